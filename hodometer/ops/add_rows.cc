#include "hodometer/ops/add_rows.h"

#include <fmt/format.h>

#include <limits>

#include "hodometer/kernels/add_rows.h"
#include "hodometer/kernels/make_table.h"
#include "hodometer/ops/add_rows_checks-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

using internal::TokenRun;

/// Tokens whose rows are found on the stack before a kernel call.
constexpr int64_t tile_tokens = 256;

/// One call: everything checked, nothing owned.
struct RowAddition {
  const Plan& plan;
  const EmbeddingsView& x;
  const PositionView& positions;
  const LearnedTable& table;

  const AddRow& row() const { return plan.row->row; }

  /// The tokens of a run, `lanes` lanes from `lane` on, in place.
  TokenBlock block(const TokenRun& run, int64_t lane, int64_t lanes) const {
    TokenBlock made;
    made.dtype = x.dtype;
    made.tokens = run.count;
    made.dim = lanes;
    made.dst = static_cast<char*>(x.data) +
               (run.offset(x.batch_stride, x.length_stride) + lane) * dtype_size(x.dtype);
    made.dst_token_stride = run.stride(x.batch_stride, x.length_stride);
    made.src = made.dst;
    made.src_token_stride = made.dst_token_stride;
    return made;
  }

  void add_computed(const TokenRun& run, decltype(AngleRows::positions) row_positions) const {
    const SinusoidLanes& lanes = *row().sinusoid;
    const auto sines = static_cast<int64_t>(lanes.inv_freq.size());
    AngleRows rows = internal::angle_rows(plan.row->angles, plan.angle_mode, 0, lanes.num_cosines);
    rows.tokens = run.count;
    rows.positions = row_positions;
    add_sinusoid_rows(rows, {lanes.sine_start, lanes.cosine_start, lanes.lane_stride},
                      block(run, 0, x.dim));
    if (sines == lanes.num_cosines) return;
    // An odd width has a last sine without a cosine.
    float cos[tile_tokens];
    float sin[tile_tokens];
    AngleRows last = internal::angle_rows(plan.row->angles, plan.angle_mode, sines - 1, 1);
    last.tokens = run.count;
    last.positions = row_positions;
    make_table(last, cos, sin, 1);
    const int64_t lane = lanes.sine_start + (sines - 1) * lanes.lane_stride;
    add_table_rows({sin, 1, nullptr}, block(run, lane, 1));
  }

  void add_rows_of(const TokenRun& run, const int64_t* rows) const {
    if (row().sinusoid) {
      add_computed(run, PositionList{rows, 1, 0});
    } else {
      add_table_rows({table.data, table.row_stride, rows}, block(run, 0, x.dim));
    }
  }
  void add_rows_of(const TokenRun& run, const double* rows) const {
    add_computed(run, FractionalList{rows, 1, 0});
  }

  /// Adds the rows of a tile, and nothing where the row is the padding row.
  template <class Number>
  void add_tile(const TokenRun& tile) const {
    Number rows[tile_tokens];
    for (int64_t i = 0; i < tile.count; ++i) {
      const TokenRun one = tile.part(i, 1);
      rows[i] = static_cast<Number>(internal::position_at(positions, 0, one.sequence, one.token)) +
                static_cast<Number>(row().offset);
    }
    const auto pads = [&](int64_t i) {
      return row().zero_row && rows[i] == static_cast<Number>(*row().zero_row);
    };
    for (int64_t begin = 0; begin < tile.count;) {
      int64_t end = begin;
      while (end < tile.count && !pads(end)) ++end;
      if (end > begin) add_rows_of(tile.part(begin, end - begin), rows + begin);
      begin = end + 1;
    }
  }

  void add_all(const TokenRun& run) const {
    const bool whole = !std::holds_alternative<PositionView::Coordinates>(positions.source());
    for (int64_t skip = 0; skip < run.count; skip += tile_tokens) {
      const TokenRun tile = run.part(skip, std::min(tile_tokens, run.count - skip));
      if (whole) {
        add_tile<int64_t>(tile);
      } else {
        add_tile<double>(tile);
      }
    }
  }
};

Status check_table(std::string_view operation, const AddRow& row,
                   const std::optional<LearnedTable>& table) {
  if (row.sinusoid) {
    if (!table) return {};
    return Error{ErrorKind::usage,
                 fmt::format("{}: the rows are computed: expected no table", operation)};
  }
  if (!table) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: the rows are learned: expected a table of {} rows of {}",
                             operation, row.num_rows.value_or(0), row.dim)};
  }
  HODO_RETURN_IF_ERROR(
      internal::check_extents(operation, table->data, sizeof(float),
                              {{"rows of the table", table->rows, table->row_stride},
                               {"width of the table", table->dim, 1}}));
  if (table->dim != row.dim || table->rows != row.num_rows.value_or(0)) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: the table is [{}, {}]: expected [{}, {}]", operation, table->rows,
                             table->dim, row.num_rows.value_or(0), row.dim)};
  }
  return {};
}

Status check_rows(std::string_view operation, const AddRow& row, const PositionView& positions,
                  int64_t batch, int64_t length) {
  if (row.sinusoid) {
    const int64_t most = max_position - row.offset;
    if (const auto outside =
            internal::find_outside(positions, batch, length, -max_position, most)) {
      return Error{ErrorKind::limit,
                   fmt::format("{}: position {} ({}): expected {} to {}", operation, outside->value,
                               outside->place, -max_position, most)};
    }
    return {};
  }
  if (std::holds_alternative<PositionView::Coordinates>(positions.source())) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: the rows are learned: expected positions that are whole numbers",
                             operation)};
  }
  const int64_t rows = row.num_rows.value_or(0);
  const int64_t longest = rows - row.offset;
  if (const auto outside = internal::find_outside(positions, batch, length, 0, longest - 1)) {
    return Error{ErrorKind::limit,
                 fmt::format("{}: position {} ({}): the table has {} rows, 0 to {}; first row "
                             "used is {}; longest input {}",
                             operation, outside->value, outside->place, rows, rows - 1, row.offset,
                             longest)};
  }
  return {};
}

}  // namespace

Status internal::check_add_rows(std::string_view operation, const Plan& plan,
                                const EmbeddingsView& x, const PositionView& positions,
                                const std::optional<LearnedTable>& table) {
  HODO_RETURN_IF_ERROR(check_extents(operation, x.data, dtype_size(x.dtype),
                                     {{"batch", x.batch, x.batch_stride},
                                      {"length", x.length, x.length_stride},
                                      {"dim", x.dim, 1}}));
  if (!plan.row) {
    if (!table) return {};
    return Error{ErrorKind::usage, fmt::format("{}: the method {} adds no rows: expected no table",
                                               operation, method_name(plan.spec))};
  }
  const AddRow& row = plan.row->row;
  if (x.dim != row.dim) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: dim is {}: expected the plan's {}", operation, x.dim, row.dim)};
  }
  HODO_RETURN_IF_ERROR(check_table(operation, row, table));
  HODO_RETURN_IF_ERROR(check_shape(operation, positions, 1, x.batch, x.length));
  return check_rows(operation, row, positions, x.batch, x.length);
}

Status add_rows(const Plan& plan, const EmbeddingsView& x, const PositionView& positions,
                const std::optional<LearnedTable>& table, Executor& executor) {
  HODO_RETURN_IF_ERROR(internal::check_add_rows("add_rows", plan, x, positions, table));
  if (!plan.row || x.batch == 0 || x.length == 0) return {};

  const RowAddition addition{plan, x, positions, table.value_or(LearnedTable())};
  internal::for_each_run(x.batch, x.length, x.dim * dtype_size(x.dtype),
                         std::numeric_limits<int64_t>::max(), executor,
                         [&](const TokenRun& run) { addition.add_all(run); });
  return {};
}

}  // namespace hodometer
