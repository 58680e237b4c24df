#include "hodometer/ops/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/kernels/convert.h"
#include "hodometer/ops/attention_bias-inl.h"
#include "hodometer/ops/attention_checks-inl.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/ops/seen_keys-inl.h"

namespace hodometer {
namespace {

using internal::AttentionCall;
using internal::DistanceValues;
using internal::NumberRow;
using internal::SeenKeys;
using internal::TileBias;

/// Buffers that tasks take and give back: as many as ever ran at once.
class ScratchPool {
 public:
  std::vector<float> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return {};
    std::vector<float> buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void give_back(std::vector<float> buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<float>> free_;
};

/// One sequence of the batch, or all of them where they do not differ.
struct Sequence {
  NumberRow query_positions, key_positions;
  SeenKeys seen;
};

Sequence make_sequence(const AttentionCall& call, int64_t index) {
  const AttentionOptions& options = call.options;
  const internal::MaskedTokens queries{
      internal::number_row(call.query_order, index, call.q.length),
      options.query_segments
          ? std::optional(internal::segment_row(*options.query_segments, index))
          : std::nullopt,
      call.q.length};
  const internal::MaskedTokens keys{
      internal::number_row(call.key_order, index, call.k.length),
      options.key_segments ? std::optional(internal::segment_row(*options.key_segments, index))
                           : std::nullopt,
      call.k.length};
  NumberRow query_positions, key_positions;
  if (call.needs_numbers()) {
    query_positions = internal::number_row(call.query_positions, index, call.q.length);
    key_positions = internal::number_row(call.key_positions, index, call.k.length);
  }
  return {query_positions, key_positions, SeenKeys(options.mask, queries, keys)};
}

/// Everything that tasks share.
class Attention {
 public:
  explicit Attention(const AttentionCall& call) : call_(call) {
    const int64_t sequences = call.sequences_differ() ? call.q.batch : 1;
    for (int64_t b = 0; b < sequences; ++b) sequences_.push_back(make_sequence(call, b));
    if (call.plan.distance_bias) {
      distance_.emplace(*call.plan.distance_bias, call.options.learned.buckets);
      make_slices();
    }
    if (call.plan.query_table_bias) transpose_key_rows();
    group_ = call.q.heads / call.k.heads;
    block_tokens_ = attention_block_tokens(group_, call.q.head_dim, call.v.head_dim);
    blocks_ = (call.q.length - 1) / block_tokens_ + 1;
  }

  void run(Executor& executor) {
    const auto task = [&](int64_t index) { attend_block(index); };
    executor.run(call_.q.batch * call_.k.heads * blocks_, task);
  }

 private:
  const Sequence& sequence(int64_t index) const {
    return sequences_[sequences_.size() == 1 ? 0 : static_cast<size_t>(index)];
  }

  // One array over all distances between runs, where it is not out of proportion.
  void make_slices() {
    int64_t least = 0, most = -1;
    for (const Sequence& sequence : sequences_) {
      if (!sequence.query_positions.is_run() || !sequence.key_positions.is_run()) return;
      for (int64_t i = 0; i < call_.q.length; ++i) {
        const KeyRange& range = sequence.seen.ranges()[static_cast<size_t>(i)];
        if (range.begin >= range.end) continue;
        const int64_t query = sequence.query_positions[i];
        const int64_t near = query - sequence.key_positions[range.end - 1];
        const int64_t far = query - sequence.key_positions[range.begin];
        least = most < least ? near : std::min(least, near);
        most = most < least ? far : std::max(most, far);
      }
    }
    const int64_t heads = call_.q.heads;
    constexpr int64_t most_values = int64_t{1} << 23;
    if (most < least || most - least >= most_values / heads) return;
    slices_.last_distance = most;
    slices_.num_distances = most - least + 1;
    slices_.values.resize(static_cast<size_t>(heads * slices_.num_distances));
    for (int64_t head = 0; head < heads; ++head) {
      distance_->descend(head, most,
                         std::span(slices_.values)
                             .subspan(static_cast<size_t>(head * slices_.num_distances),
                                      static_cast<size_t>(slices_.num_distances)));
    }
  }

  void transpose_key_rows() {
    const int64_t rows = call_.plan.query_table_bias->num_rows();
    table_lanes_.resize(static_cast<size_t>(rows * call_.q.head_dim));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t lane = 0; lane < call_.q.head_dim; ++lane) {
        table_lanes_[static_cast<size_t>(lane * rows + row)] =
            call_.options.learned.key_rows[static_cast<size_t>(row * call_.q.head_dim + lane)];
      }
    }
  }

  // What scores are multiplied by: one number for all tokens, or one for each.
  std::vector<float> scales_of(const Sequence& sequence, int64_t first, int64_t tokens) const {
    std::vector<float> scales(call_.plan.logit_scales.empty() ? 1 : static_cast<size_t>(tokens));
    for (size_t i = 0; i < scales.size(); ++i) {
      const double by_position =
          call_.plan.logit_scales.empty()
              ? 1.0
              : call_.plan.logit_scale_at(sequence.query_positions[first + static_cast<int64_t>(i)]);
      scales[i] = static_cast<float>(call_.scale * by_position);
    }
    return scales;
  }

  void attend_block(int64_t index);
  std::vector<float> table_scores(const float* queries, int64_t rows) const;

  const AttentionCall& call_;
  std::vector<Sequence> sequences_;
  std::optional<DistanceValues> distance_;
  internal::DistanceSlices slices_;
  std::vector<float> table_lanes_;  ///< [head_dim, table rows]
  int64_t group_ = 1;
  int64_t block_tokens_ = 1;
  int64_t blocks_ = 1;
  ScratchPool pool_;
};

const void* element(const HeadsView& heads, int64_t batch, int64_t token, int64_t head) {
  return static_cast<const char*>(heads.data) +
         (batch * heads.batch_stride + token * heads.length_stride + head * heads.head_stride) *
             dtype_size(heads.dtype);
}

/// Tokens [first, first + count) of one sequence.
PositionView slice(const PositionView& view, int64_t sequence, int64_t first, int64_t count) {
  const auto array = [&](auto ids) {
    ids.data += (ids.batch == 1 ? 0 : sequence * ids.batch_stride) + first * ids.length_stride;
    ids.batch = 1;
    ids.length = count;
    return PositionView::strided(ids, view.num_axes());
  };
  if (const auto* run = std::get_if<PositionView::Run>(&view.source())) {
    return PositionView::range(run->first + first).same_on_axes(view.num_axes());
  }
  if (const auto* starts = std::get_if<PositionView::Starts>(&view.source())) {
    const int64_t start = starts->first[starts->batch == 1 ? 0 : sequence * starts->stride];
    return PositionView::range(start + first).same_on_axes(view.num_axes());
  }
  if (const auto* ids = std::get_if<PositionView::Ids>(&view.source())) return array(*ids);
  return array(std::get<PositionView::Coordinates>(view.source()));
}

/// Turns float32 rows [tokens, heads, head_dim] in place. Everything was checked before.
void turn_rows(const Plan& plan, const PositionView& positions, HeadRole role, float* rows,
               int64_t tokens, int64_t heads, int64_t head_dim) {
  if (plan.rotations.empty() || tokens == 0) return;
  RotateOptions options;
  options.role = role;
  [[maybe_unused]] const Status turned =
      rotate(plan, HeadsView::bshd(rows, DType::float32, 1, tokens, heads, head_dim), positions,
             options);
  assert(turned.ok());
}

/// Keys of one sequence and head, turned on their way into a tile.
struct TurnedKeys {
  const AttentionCall& call;
  int64_t sequence;
  int64_t head;

  static void load(const void* context, int64_t begin, int64_t count, float* rows) {
    const auto& self = *static_cast<const TurnedKeys*>(context);
    const HeadsView& k = self.call.k;
    for (int64_t i = 0; i < count; ++i) {
      to_float32(k.dtype, element(k, self.sequence, begin + i, self.head), rows + i * k.head_dim,
                 k.head_dim);
    }
    turn_rows(self.call.plan, slice(self.call.key_positions, self.sequence, begin, count),
              HeadRole::key, rows, count, 1, k.head_dim);
  }
};

// rows[r, t] = query r . table row t. The inner loop runs over table rows, which are contiguous.
std::vector<float> Attention::table_scores(const float* queries, int64_t rows) const {
  const int64_t width = call_.plan.query_table_bias->num_rows();
  std::vector<float> scores(static_cast<size_t>(rows * width));
  constexpr float undo = 1 / kQueryFactor;
  for (int64_t row = 0; row < rows; ++row) {
    float* to = scores.data() + row * width;
    for (int64_t lane = 0; lane < call_.q.head_dim; ++lane) {
      const float query = undo * queries[row * call_.q.head_dim + lane];
      const float* from = table_lanes_.data() + lane * width;
      for (int64_t t = 0; t < width; ++t) to[t] += query * from[t];
    }
  }
  return scores;
}

void Attention::attend_block(int64_t index) {
  // Late blocks see the most keys under a causal mask and come first, so that no thread ends with
  // one alone.
  const int64_t part = blocks_ - 1 - index / (call_.q.batch * call_.k.heads);
  const int64_t batch = index / call_.k.heads % call_.q.batch;
  const int64_t kv_head = index % call_.k.heads;
  const int64_t first = part * block_tokens_;
  const int64_t tokens = std::min(block_tokens_, call_.q.length - first);
  const int64_t first_head = kv_head * group_;
  const Sequence& sequence = this->sequence(batch);
  const AttentionOptions& options = call_.options;

  AttentionBlock block;
  block.tokens = tokens;
  block.group = group_;
  block.head_dim = call_.q.head_dim;
  block.value_dim = call_.v.head_dim;
  block.query = {call_.q.dtype, element(call_.q, batch, first, first_head), call_.q.length_stride,
                 call_.q.head_stride};
  block.key = {call_.k.dtype, element(call_.k, batch, 0, kv_head), call_.k.length_stride};
  block.value = {call_.v.dtype, element(call_.v, batch, 0, kv_head), call_.v.length_stride};
  block.out = {call_.out.dtype, const_cast<void*>(element(call_.out, batch, first, first_head)),
               call_.out.length_stride, call_.out.head_stride};
  block.ranges = sequence.seen.ranges().data() + first;
  const std::vector<float> scales = scales_of(sequence, first, tokens);
  block.scale = scales.data();
  block.scale_token_stride = scales.size() == 1 ? 0 : 1;
  block.soft_cap = static_cast<float>(options.soft_cap);
  block.sinks = options.sinks.empty() ? nullptr : options.sinks.data() + first_head;
  if (options.log_sums != nullptr) {
    block.log_sum =
        options.log_sums + (batch * call_.q.length + first) * call_.q.heads + first_head;
    block.log_sum_token_stride = call_.q.heads;
    block.log_sum_head_stride = 1;
  }
  const TurnedKeys keys{call_, batch, kv_head};
  if (options.keys == KeyState::unturned && !call_.plan.rotations.empty()) {
    block.key.load = &TurnedKeys::load;
    block.key.context = &keys;
  }

  std::vector<float> scratch = pool_.take();
  scratch.resize(static_cast<size_t>(attention_scratch_size(block)));
  load_queries(block, scratch.data());
  float* rows = attention_query_rows(scratch.data());
  turn_rows(call_.plan, slice(call_.query_positions, batch, first, tokens), HeadRole::query, rows,
            tokens, group_, call_.q.head_dim);

  TileBias bias;
  std::vector<float> from_table;
  if (!slices_.values.empty() && sequence.seen.whole()) {
    block.bias.data = slices_.values.data() + first_head * slices_.num_distances +
                      slices_.last_distance - sequence.query_positions[first] +
                      sequence.key_positions[0];
    block.bias.token_stride = -1;
    block.bias.head_stride = slices_.num_distances;
  } else if (distance_ || call_.plan.query_table_bias || !sequence.seen.whole()) {
    bias.seen = sequence.seen.whole() ? nullptr : &sequence.seen;
    bias.distance = distance_ ? &*distance_ : nullptr;
    if (call_.plan.query_table_bias) {
      from_table = table_scores(rows, tokens * group_);
      bias.table = &*call_.plan.query_table_bias;
      bias.table_scores = from_table.data();
    }
    bias.query_positions = sequence.query_positions;
    bias.key_positions = sequence.key_positions;
    bias.first_query = first;
    bias.first_head = first_head;
    bias.group = group_;
    block.bias.fill = &TileBias::fill;
    block.bias.context = &bias;
  }
  attend(block, scratch.data());
  pool_.give_back(std::move(scratch));
}

}  // namespace

Status attention(const Plan& plan, const HeadsView& q, const HeadsView& k, const HeadsView& v,
                 const HeadsView& out, const AttentionOptions& options, Executor& executor) {
  HODO_ASSIGN(const AttentionCall call,
              internal::check_attention(plan, q, k, v, out, options));
  if (q.batch == 0 || q.length == 0 || q.heads == 0) return {};
  Attention(call).run(executor);
  return {};
}

}  // namespace hodometer
