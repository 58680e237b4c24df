#include "hodometer/ops/rotate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hodometer/ops/decay-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

using internal::TokenRun;

/// Bytes of heads that stay in cache while several rotations or tensors pass over them.
constexpr int64_t tile_bytes = 64 * 1024;

Status check_heads(std::string_view operation, const Plan& plan, const HeadsView& heads) {
  HODO_RETURN_IF_ERROR(internal::check_extents(operation, heads.data, dtype_size(heads.dtype),
                                               {{"batch", heads.batch, heads.batch_stride},
                                                {"length", heads.length, heads.length_stride},
                                                {"heads", heads.heads, heads.head_stride},
                                                {"head_dim", heads.head_dim, 1}}));
  if (!plan.rotations.empty() && heads.head_dim != plan.head_dim()) {
    return Error{ErrorKind::usage, fmt::format("{}: head_dim is {}: expected the plan's {}",
                                               operation, heads.head_dim, plan.head_dim())};
  }
  return {};
}

template <class Pointer>
Pointer element(Pointer data, DType dtype, int64_t offset) {
  return data + offset * dtype_size(dtype);
}

/// One call: everything checked, nothing owned.
struct Rotation {
  const Plan& plan;
  std::span<const HeadsView> from;
  std::span<const HeadsView> to;
  const PositionView& positions;
  const RotateOptions& options;

  // The first rotation of a run reads `from`, whatever follows turns `to` in place.
  using Sources = std::span<const HeadsView>;

  HeadBlock block(Sources sources, size_t tensor, const TokenRun& run) const {
    const HeadsView& source = sources[tensor];
    const HeadsView& target = to[tensor];
    return {.dtype = target.dtype,
            .heads = target.heads,
            .head_dim = target.head_dim,
            .src = element(static_cast<const char*>(source.data), source.dtype,
                           run.offset(source.batch_stride, source.length_stride)),
            .src_token_stride = run.stride(source.batch_stride, source.length_stride),
            .src_head_stride = source.head_stride,
            .dst = element(static_cast<char*>(target.data), target.dtype,
                           run.offset(target.batch_stride, target.length_stride)),
            .dst_token_stride = run.stride(target.batch_stride, target.length_stride),
            .dst_head_stride = target.head_stride};
  }

  void turn(Sources sources, const AngleRows& rows, const PairLanes& lanes,
            const TokenRun& run) const {
    constexpr size_t at_once = 8;
    std::array<HeadBlock, at_once> blocks;
    for (size_t tensor = 0; tensor < to.size(); tensor += at_once) {
      const size_t count = std::min(at_once, to.size() - tensor);
      for (size_t k = 0; k < count; ++k) blocks[k] = block(sources, tensor + k, run);
      rotate_pairs(rows, options.direction, lanes, std::span(blocks).first(count));
    }
  }

  void turn_all(const TokenRun& run) const {
    Sources sources = from;
    for (const RotationPlan& rotation : plan.rotations) {
      const bool inverse = options.direction == Direction::inverse;
      const double magnitude = inverse ? 1 / rotation.magnitude : rotation.magnitude;
      if (rotation.decay) {
        turn_with_decay(sources, rotation, static_cast<float>(magnitude), run);
      } else {
        AngleRows rows =
            internal::angle_rows(rotation.angles, plan.angle_mode, 0, rotation.num_pairs());
        rows.tokens = run.count;
        rows.positions = internal::positions_of(positions, run);
        rows.axes = rotation.axis.empty() ? nullptr : rotation.axis.data();
        rows.magnitude = static_cast<float>(magnitude);
        turn(sources, rows, internal::pair_lanes(rotation, 0), run);
      }
      sources = to;
    }
    // Without a rotation the heads are only carried over.
    if (plan.rotations.empty()) turn(from, {run.count, 0, {}, {}, nullptr, 1, nullptr, 0}, {}, run);
  }

  void turn_with_decay(Sources sources, const RotationPlan& rotation, float magnitude,
                       const TokenRun& run) const {
    const bool grows =
        (*options.role == HeadRole::query) == (options.direction != Direction::inverse);
    internal::for_each_decay_tile(
        rotation, positions, run, grows ? 1.0 : -1.0,
        [&](const TokenRun& tile, int64_t begin, int64_t pairs, const float* decay) {
          AngleRows rows = internal::angle_rows(rotation.angles, plan.angle_mode, begin, pairs);
          rows.tokens = tile.count;
          rows.positions = internal::positions_of(positions, tile);
          rows.magnitude = magnitude;
          rows.decay = decay;
          rows.decay_stride = pairs;
          turn(begin == 0 ? sources : to, rows, internal::pair_lanes(rotation, begin), tile);
        });
  }
};

Status rotate_checked(std::string_view operation, const Plan& plan, std::span<const HeadsView> from,
                      std::span<const HeadsView> to, const PositionView& positions,
                      const RotateOptions& options, Executor& executor) {
  if (to.empty()) return {};
  const HeadsView& first = to.front();
  int64_t bytes_per_token = 1;
  for (const HeadsView& heads : to) {
    HODO_RETURN_IF_ERROR(check_heads(operation, plan, heads));
    if (heads.batch != first.batch || heads.length != first.length) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: a tensor of batch {} and length {} beside one of batch {} and "
                               "length {}: expected equal ones",
                               operation, heads.batch, heads.length, first.batch, first.length)};
    }
    // Of an empty tensor no extent was checked.
    if (heads.batch == 0 || heads.length == 0 || heads.heads == 0) continue;
    bytes_per_token += heads.heads * heads.head_dim * dtype_size(heads.dtype);
  }
  HODO_RETURN_IF_ERROR(
      internal::check_positions(operation, plan, positions, first.batch, first.length));
  HODO_RETURN_IF_ERROR(
      internal::check_decay(operation, plan, positions, options.role, first.batch, first.length));
  if (bytes_per_token == 1) return {};

  const Rotation rotation{plan, from, to, positions, options};
  const bool one_pass = to.size() == 1 && plan.rotations.size() <= 1;
  const int64_t most_tokens = one_pass ? std::numeric_limits<int64_t>::max()
                                       : std::max<int64_t>(1, tile_bytes / bytes_per_token);
  internal::for_each_run(first.batch, first.length, bytes_per_token, most_tokens, executor,
                         [&](const TokenRun& run) { rotation.turn_all(run); });
  return {};
}

}  // namespace

Status rotate(const Plan& plan, std::span<const HeadsView> tensors, const PositionView& positions,
              const RotateOptions& options, Executor& executor) {
  return rotate_checked("rotate", plan, tensors, tensors, positions, options, executor);
}

Status rotate(const Plan& plan, const HeadsView& heads, const PositionView& positions,
              const RotateOptions& options, Executor& executor) {
  return rotate(plan, {&heads, 1}, positions, options, executor);
}

Status rotate_to(const Plan& plan, const HeadsView& from, const HeadsView& to,
                 const PositionView& positions, const RotateOptions& options, Executor& executor) {
  HODO_RETURN_IF_ERROR(check_heads("rotate_to", plan, from));
  if (from.dtype != to.dtype || from.batch != to.batch || from.length != to.length ||
      from.heads != to.heads || from.head_dim != to.head_dim) {
    return Error{
        ErrorKind::usage,
        fmt::format("rotate_to: from is {} [{}, {}, {}, {}] and to is {} [{}, {}, {}, {}]: "
                    "expected equal shapes and dtypes",
                    dtype_name(from.dtype), from.batch, from.length, from.heads, from.head_dim,
                    dtype_name(to.dtype), to.batch, to.length, to.heads, to.head_dim)};
  }
  return rotate_checked("rotate_to", plan, {&from, 1}, {&to, 1}, positions, options, executor);
}

}  // namespace hodometer
