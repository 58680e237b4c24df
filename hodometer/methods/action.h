#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "hodometer/base/pair_layout.h"
#include "hodometer/base/real.h"

/// The closed set of actions: everything that any position method does, in double precision.
/// Whatever is fast knows only these.
namespace hodometer {

/// Limits that keep every size within memory and every sum within 64 bits.
inline constexpr int64_t max_dim = int64_t{1} << 20;
inline constexpr int64_t max_num_heads = int64_t{1} << 20;
inline constexpr int64_t max_rows = int64_t{1} << 31;

/// Which lane of a sinusoidal row holds the sine or cosine of which pair.
///
/// Lane sine_start + i * lane_stride holds sin of pair i, lane cosine_start + i * lane_stride its
/// cosine; lanes that neither names are 0.
struct SinusoidLanes {
  std::vector<Real> inv_freq = {};  ///< radians per position, one per sine lane
  int64_t num_cosines = 0;          ///< one fewer than the sines when the width is odd
  int64_t sine_start = 0;
  int64_t cosine_start = 0;
  int64_t lane_stride = 1;
};

/// A row of `dim` values added to the embedding at each position: computed when `sinusoid` is
/// there, else read from a learned table of max_position_embeddings + offset rows.
struct AddRow {
  int64_t dim = 0;
  int64_t offset = 0;                    ///< row = position + offset
  std::optional<int64_t> zero_row = {};  ///< a row that is all zeros (padding)
  std::optional<int64_t> num_rows = {};  ///< of the learned table
  std::optional<SinusoidLanes> sinusoid = {};
};

/// A magnitude per pair that grows for queries and shrinks for keys with the position (xPos):
/// zeta^((position - center) / scale_base).
struct Decay {
  std::vector<double> log_zeta = {};  ///< natural logarithm, one per pair
  double scale_base = 0;              ///< positions per power
  double center = 0;                  ///< position of magnitude 1
};

/// Lanes of a head turned in pairs: (x, y) -> A (x cos - y sin, y cos + x sin) with angle
/// position[axis] * inv_freq.
struct RotatePairs {
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;    ///< lanes that turn; even, may be 0
  int64_t rotary_start = 0;  ///< first of them
  PairLayout layout = PairLayout::half_split;
  std::vector<Real> inv_freq = {};  ///< radians per position, rotary_dim / 2 of them
  std::vector<uint8_t> axis = {};   ///< which position stream a pair reads; empty: all the first
  int64_t num_axes = 1;
  double magnitude = 1;  ///< A
  std::optional<Decay> decay = {};
};

/// A value per head added to the score, that depends on distance = query - key alone.
struct DistanceBias {
  int64_t num_heads = 0;
  /// bias = -slope |distance|, one per head; empty when the bias is learned per bucket.
  std::vector<double> slopes = {};
  /// Ascending: bucket b of the keys at or left of the query starts at distance bucket_starts[b].
  std::vector<int64_t> bucket_starts = {};
  /// Added to the bucket when the key is right of the query; 0: those keys share bucket 0.
  int64_t right_bucket_offset = 0;

  /// Rows of the learned table.
  int64_t num_buckets() const;
  /// The learned table's row for a distance.
  int64_t bucket(int64_t distance) const;
};

/// score += q . a[index], index = clip(key - query, -left, right) + left, with learned rows a;
/// optionally values get rows of a second table too.
struct QueryTableBias {
  int64_t left = 0;
  int64_t right = 0;
  bool adds_to_values = false;

  int64_t num_rows() const { return left + right + 1; }
  int64_t row(int64_t distance) const;
};

/// What a score is multiplied by, on top of 1/sqrt(head_dim). Every part is 1 unless it is used.
struct LogitScale {
  double constant = 1;
  /// 1 + beta ln(1 + floor((position + offset) / floor_scale)); 1 where the floor is negative.
  double beta = 0;
  double floor_scale = 1;
  int64_t offset = 0;
  /// max(1, ln(position + 1) / ln(trained)) when above 0.
  int64_t log_n_trained = 0;

  double at(int64_t query_position) const;
};

using Action = std::variant<AddRow, RotatePairs, DistanceBias, QueryTableBias, LogitScale>;

}  // namespace hodometer
