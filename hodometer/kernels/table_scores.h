#pragma once

#include <cstdint>

namespace hodometer {

/// scores[r * stride + t] = query row r . table row t, in float32.
///
/// queries [rows, head_dim], table [num_rows, head_dim], both contiguous. `stride` is at least
/// whole_panels(num_rows): scores beyond num_rows are written too, with nothing of use. `panel` is
/// working memory of table_panel_size(head_dim) floats.
void table_scores(const float* queries, int64_t rows, int64_t head_dim, const float* table,
                  int64_t num_rows, float* panel, float* scores, int64_t stride);

/// Floats that table_scores() needs beside its arguments.
constexpr int64_t table_panel_size(int64_t head_dim) { return 32 * head_dim; }

}  // namespace hodometer
