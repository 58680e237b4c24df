#pragma once

#include <cstdint>

#include "hodometer/base/tensor_view.h"

namespace hodometer {

/// Rows of query heads: lane 0 of head h of token i is at element i * token_stride +
/// h * head_stride. Strides are in elements and may have any sign; no alignment is needed.
template <class Data>
struct QueryRows {
  DType dtype = DType::float32;
  Data* data = nullptr;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

/// Rows of the one key or value head: lane 0 of key n is at element n * stride.
struct KeyRows {
  DType dtype = DType::float32;
  const void* data = nullptr;
  int64_t stride = 0;
  /// Where not null, rows come from here and not from `data`: keys that are turned on their way
  /// into a tile, pages, types that kernels do not know. Writes keys [begin, begin + count), at
  /// most 256, as float32 rows one after the other.
  void (*load)(const void* context, int64_t begin, int64_t count, float* rows) = nullptr;
  const void* context = nullptr;
};

/// The keys [begin, end); none where end <= begin. begin is not negative.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Scores of query rows [first_row, first_row + rows) and keys [first_key, first_key + keys). Row
/// r is head r % group of token r / group; the score of key n is at (r - first_row) * stride +
/// (n - first_key).
struct BiasTile {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_key = 0;
  int64_t keys = 0;
  float* data = nullptr;
  int64_t stride = 0;
};

/// What is added to the score of token i, head h and key n. -inf hides the key. Nothing is added
/// where both `data` and `fill` are null.
struct ScoreBias {
  /// data[h * head_stride + i * token_stride + n]; read for keys that the token sees and no others,
  /// so `data` may point to before an array. One array over distance has token_stride -1.
  const float* data = nullptr;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  /// Used where `data` is null: writes every score of the tile.
  void (*fill)(const void* context, const BiasTile& tile) = nullptr;
  const void* context = nullptr;
};

/// Weights of query rows [first_row, first_row + rows) for keys [first_key, first_key + keys), laid
/// out as scores are in a BiasTile. Weight sums of row r are at sums + (r - first_row) *
/// sum_stride.
struct WeightTile {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t first_key = 0;
  int64_t keys = 0;
  const float* data = nullptr;
  int64_t stride = 0;
  float* sums = nullptr;
  int64_t sum_stride = 0;
};

/// Rows that join the values by a rule of their own: `add` adds the weight of every key of a tile
/// to the weight sum of the row that the key goes by, and the output gets the rows times their
/// sums. Keys that a row does not see have weight 0. Weights are on their way to be divided by
/// their sum.
struct ValueTable {
  const float* data = nullptr;  ///< [num_rows, value_dim]
  int64_t num_rows = 0;         ///< 0: no table
  void (*add)(const void* context, const WeightTile& tile) = nullptr;
  const void* context = nullptr;
};

/// A run of query tokens of the `group` query heads that share a key and a value head, and all keys
/// that they may see.
struct AttentionBlock {
  int64_t tokens = 0;
  int64_t group = 1;
  int64_t head_dim = 0;   ///< of queries and keys
  int64_t value_dim = 0;  ///< of values and the output
  QueryRows<const void> query;
  KeyRows key;
  KeyRows value;
  QueryRows<void> out;
  /// Per token the keys that it sees. Keys that no token sees are not read.
  const KeyRange* ranges = nullptr;
  /// The factor of the scores of token i and head h is at i * scale_token_stride +
  /// h * scale_head_stride.
  const float* scale = nullptr;
  int64_t scale_token_stride = 0;
  int64_t scale_head_stride = 0;
  /// Where above 0: score = soft_cap * tanh(score / soft_cap), before the bias.
  float soft_cap = 0;
  ScoreBias bias;
  ValueTable value_table;
  /// Per head a score that takes part in the sum of the softmax and has no value; null: none.
  const float* sinks = nullptr;
  /// Where not null: the natural logarithm of the sum of the softmax, the sink with it. -inf where
  /// the sum is empty.
  float* log_sum = nullptr;
  int64_t log_sum_token_stride = 0;
  int64_t log_sum_head_stride = 0;
};

/// Lanes rounded up to whole panels of every instruction set.
constexpr int64_t whole_panels(int64_t lanes) { return (lanes + 31) / 32 * 32; }

/// From one row of outputs in scratch memory to the next: the output's lanes, then weight sums.
inline int64_t output_stride(const AttentionBlock& block) {
  return whole_panels(block.value_dim) + whole_panels(block.value_table.num_rows);
}

/// Lanes of the widest rows that a block loads, 0 where it loads none.
inline int64_t loaded_lanes(const AttentionBlock& block) {
  const int64_t key = block.key.load == nullptr ? 0 : block.head_dim;
  const int64_t value = block.value.load == nullptr ? 0 : block.value_dim;
  return key > value ? key : value;
}

/// A number of tokens at which a block of such heads stays in the cache of a core, and the work on
/// keys that a block's rows share is negligible.
int64_t attention_block_tokens(int64_t group, int64_t head_dim, int64_t value_dim);

/// How many floats attend() needs beside its arguments; does not depend on the number of keys.
int64_t attention_scratch_size(const AttentionBlock& block);

/// Where the queries lie in the scratch memory: float32, row r = token * group + head at
/// r * head_dim.
float* attention_query_rows(float* scratch);

/// What the rows in the scratch memory are multiplied by beside their scale: log2(e), for softmax
/// is computed with powers of 2.
inline constexpr float kQueryFactor = 1.44269504088896341f;

/// Copies the queries into the scratch memory as float32 times their scale and kQueryFactor.
/// Whoever wants to turn them on the way does so on attention_query_rows() between this and
/// attend(), or writes them there in place of this.
void load_queries(const AttentionBlock& block, float* scratch);

/// out = softmax(scale * query . key + bias) . value, over the keys each token sees, of the queries
/// in the scratch memory; block.query and block.scale are not used. A row without a key that is
/// seen and not hidden gives zeros.
///
/// Computed in float32 and rounded once to the type of the output. For float32 the error is within
/// 2e-6 of the largest value where scores are below 16: scores themselves are rounded. Values of
/// keys that some token of the block sees must be finite, or rows near it become NaN too. The same
/// bits for any split of the tokens into blocks. Never allocates.
void attend(const AttentionBlock& block, float* scratch);

}  // namespace hodometer
