#pragma once

// Private: how the tokens of a call reach the kernels. Not installed.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/kernels/angle_rows.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/position_view.h"

namespace hodometer::internal {

/// Consecutive tokens that one kernel call serves: `count` tokens of a sequence from `token` on,
/// or, when every sequence has one token, that of `count` sequences from `sequence` on. In both
/// cases token i is i strides further.
struct TokenRun {
  int64_t sequence = 0;
  int64_t token = 0;
  int64_t count = 0;
  bool across = false;

  /// Elements before the first token of the run, and from one to the next.
  int64_t offset(int64_t batch_stride, int64_t length_stride) const {
    return sequence * batch_stride + token * length_stride;
  }
  int64_t stride(int64_t batch_stride, int64_t length_stride) const {
    return across ? batch_stride : length_stride;
  }
  /// The run from its token `skip` on.
  TokenRun part(int64_t skip, int64_t tokens) const {
    return across ? TokenRun{sequence + skip, token, tokens, across}
                  : TokenRun{sequence, token + skip, tokens, across};
  }
};

/// Work below this many bytes is not worth waking a thread.
inline constexpr int64_t least_parallel_bytes = 64 * 1024;
/// What a task takes at once when there are several.
inline constexpr int64_t task_bytes = 256 * 1024;

/// Calls body(TokenRun) until every token has been in one run of at most `most_tokens`.
template <class Body>
void for_each_run(int64_t batch, int64_t length, int64_t bytes_per_token, int64_t most_tokens,
                  Executor& executor, const Body& body) {
  const bool across = length == 1;
  const int64_t rows = across ? 1 : batch;
  const int64_t tokens = across ? batch : length;
  int64_t tile = std::min(most_tokens, tokens);
  const auto run = [&](int64_t row, int64_t begin) {
    const int64_t count = std::min(tile, tokens - begin);
    body(across ? TokenRun{begin, 0, count, true} : TokenRun{row, begin, count, false});
  };
  // One token must not wait for a division.
  const bool parallel = rows * tokens > 1 && executor.threads() > 1 &&
                        rows * tokens > least_parallel_bytes / bytes_per_token;
  if (!parallel) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t begin = 0; begin < tokens; begin += tile) run(row, begin);
    }
    return;
  }
  tile = std::min(tile, std::max<int64_t>(1, task_bytes / bytes_per_token));
  const int64_t tiles = (tokens - 1) / tile + 1;
  const auto task = [&](int64_t index) { run(index / tiles, index % tiles * tile); };
  executor.run(rows * tiles, task);
}

/// The positions of a run as kernels take them. They point into `view`, which must outlive them.
decltype(AngleRows::positions) positions_of(const PositionView& view, const TokenRun& run);

/// The position of one token as a double; whole positions within 2^31 are exact.
double position_at(const PositionView& view, int64_t axis, int64_t sequence, int64_t token);

/// The kernels' description of the angles of `pairs` pairs from `begin` on; positions are not set.
AngleRows angle_rows(const AnglePlan& angles, AngleMode mode, int64_t begin, int64_t pairs);

/// A position that lies outside a range, in words: "position 7 (row 2, token 17)".
struct OutsidePosition {
  std::string place;
  std::string value;
};
std::optional<OutsidePosition> find_outside(const PositionView& view, int64_t batch, int64_t length,
                                            int64_t least, int64_t most);

/// The checks that every operation makes: the view's shape, its axes, and that positions are within
/// what the plan serves.
Status check_positions(std::string_view operation, const Plan& plan, const PositionView& view,
                       int64_t batch, int64_t length);

/// Only the shape and the axes.
Status check_shape(std::string_view operation, const PositionView& view, int64_t num_axes,
                   int64_t batch, int64_t length);

/// One dimension of a tensor.
struct Extent {
  std::string_view name;
  int64_t size;
  int64_t stride;
};
/// Sizes that are not negative, data where there is any, and no offset in bytes beyond 2^63.
Status check_extents(std::string_view operation, const void* data, int64_t element_size,
                     std::initializer_list<Extent> extents);

/// The largest position that the plan's frequencies are meant for.
int64_t largest_position(const Plan& plan);

}  // namespace hodometer::internal
