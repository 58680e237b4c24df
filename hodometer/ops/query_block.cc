#include <algorithm>
#include <cassert>

#include "hodometer/kernels/convert.h"
#include "hodometer/kernels/table_scores.h"
#include "hodometer/ops/query_block-inl.h"
#include "hodometer/ops/rotate.h"

namespace hodometer::internal {
namespace {

SequenceParts make_sequence(const AttentionCall& call, int64_t index) {
  const AttentionOptions& options = call.options;
  const auto tokens = [&](const PositionView& order, const std::optional<SegmentView>& segments,
                          int64_t length) {
    MaskedTokens masked{number_row(order, index, length), {}, length};
    if (segments) masked.segments = segment_row(*segments, index);
    return masked;
  };
  NumberRow query_positions, key_positions;
  if (call.needs_numbers()) {
    query_positions = number_row(call.query_positions, index, call.q.length);
    key_positions = number_row(call.key_positions, index, call.k.length);
  }
  return {query_positions, key_positions,
          SeenKeys(options.mask, tokens(call.query_order, options.query_segments, call.q.length),
                   tokens(call.key_order, options.key_segments, call.k.length))};
}

/// The distances that queries of a sequence meet, most >= least; none where most < least.
struct Distances {
  int64_t least = 0;
  int64_t most = -1;

  void add(const SequenceParts& sequence, int64_t query) {
    const KeyRange& range = sequence.seen.ranges()[static_cast<size_t>(query)];
    if (range.begin >= range.end) return;
    const int64_t position = sequence.query_positions[query];
    const int64_t near = position - sequence.key_positions[range.end - 1];
    const int64_t far = position - sequence.key_positions[range.begin];
    const bool first = most < least;
    least = first ? near : std::min(least, near);
    most = first ? far : std::max(most, far);
  }
};

}  // namespace

const void* element(const HeadsView& heads, int64_t batch, int64_t token, int64_t head) {
  return static_cast<const char*>(heads.data) +
         (batch * heads.batch_stride + token * heads.length_stride + head * heads.head_stride) *
             dtype_size(heads.dtype);
}

PositionView slice_tokens(const PositionView& view, int64_t sequence, int64_t first,
                          int64_t count) {
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

void turn_rows(const Plan& plan, const PositionView& positions, const RotateOptions& options,
               float* rows, int64_t tokens, int64_t heads) {
  if (plan.rotations.empty() || tokens == 0) return;
  [[maybe_unused]] const Status turned =
      rotate(plan, HeadsView::bshd(rows, DType::float32, 1, tokens, heads, plan.head_dim()),
             positions, options);
  assert(turned.ok());
}

AttentionParts::AttentionParts(const AttentionCall& call)
    : call_(call), group_(call.q.heads / call.k.heads) {
  const int64_t sequences = call.sequences_differ() ? call.q.batch : 1;
  for (int64_t b = 0; b < sequences; ++b) sequences_.push_back(make_sequence(call, b));
  if (call.plan.distance_bias) {
    distance_.emplace(*call.plan.distance_bias, call.options.learned.buckets);
  }
}

void AttentionParts::make_slices() {
  if (!distance_) return;
  Distances distances;
  for (const SequenceParts& sequence : sequences_) {
    if (!sequence.query_positions.is_run() || !sequence.key_positions.is_run()) return;
    for (int64_t i = 0; i < call_.q.length; ++i) distances.add(sequence, i);
  }
  const int64_t heads = call_.q.heads;
  constexpr int64_t most_values = int64_t{1} << 23;
  if (distances.most < distances.least || distances.most - distances.least >= most_values / heads) {
    return;
  }
  const int64_t count = distances.most - distances.least + 1;
  DistanceSlices& slices = slices_.emplace();
  slices.last_distance = distances.most;
  slices.num_distances = count;
  slices.values.resize(static_cast<size_t>(heads * count));
  for (int64_t head = 0; head < heads; ++head) {
    distance_->descend(head, distances.most,
                       {slices.values.data() + head * count, static_cast<size_t>(count)});
  }
}

QueryBlock::QueryBlock(const AttentionParts& parts, const BlockPlace& place)
    : parts_(parts), place_(place), source_{&parts.call(), place} {
  const AttentionCall& call = parts.call();
  const AttentionOptions& options = call.options;
  const int64_t first_head = place.kv_head * parts.group();
  block_.tokens = place.tokens;
  block_.group = parts.group();
  block_.head_dim = call.q.head_dim;
  block_.value_dim = call.v.head_dim;
  block_.query = {call.q.dtype, element(call.q, place.sequence, place.first, first_head),
                  call.q.length_stride, call.q.head_stride};
  block_.out = {call.out.dtype,
                const_cast<void*>(element(call.out, place.sequence, place.first, first_head)),
                call.out.length_stride, call.out.head_stride};
  set_rows(call.k, call.v);
  block_.ranges = parts.sequence(place.sequence).seen.ranges().data() + place.first;
  block_.soft_cap = static_cast<float>(options.soft_cap);
  block_.sinks = options.sinks.empty() ? nullptr : options.sinks.data() + first_head;
  if (options.log_sums != nullptr) {
    block_.log_sum = options.log_sums +
                     (place.sequence * call.q.length + place.first) * call.q.heads + first_head;
    block_.log_sum_token_stride = call.q.heads;
    block_.log_sum_head_stride = 1;
  }
  set_scales();
  set_bias();
}

void QueryBlock::set_rows(const HeadsView& k, const HeadsView& v) {
  const AttentionCall& call = parts_.call();
  block_.key = {k.dtype, element(k, place_.sequence, 0, place_.kv_head), k.length_stride};
  block_.value = {v.dtype, element(v, place_.sequence, 0, place_.kv_head), v.length_stride};
  if (call.key_source) {
    block_.key.load = &load_keys;
  } else if (call.options.keys == KeyState::unturned && !call.plan.rotations.empty()) {
    block_.key.load = &load_turned;
  }
  if (call.value_source) block_.value.load = &load_values;
  block_.key.context = block_.value.context = &source_;
}

void QueryBlock::load_turned(const void* context, int64_t begin, int64_t count, float* rows) {
  const auto& [call, place] = *static_cast<const Source*>(context);
  for (int64_t i = 0; i < count; ++i) {
    to_float32(call->k.dtype, element(call->k, place.sequence, begin + i, place.kv_head),
               rows + i * call->k.head_dim, call->k.head_dim);
  }
  turn_rows(call->plan, slice_tokens(call->key_positions, place.sequence, begin, count),
            {.role = HeadRole::key}, rows, count, 1);
}

void QueryBlock::load_keys(const void* context, int64_t begin, int64_t count, float* rows) {
  const auto& [call, place] = *static_cast<const Source*>(context);
  call->key_source->load(call->key_source->context, place.sequence, place.kv_head, begin, count,
                         rows);
}

void QueryBlock::load_values(const void* context, int64_t begin, int64_t count, float* rows) {
  const auto& [call, place] = *static_cast<const Source*>(context);
  call->value_source->load(call->value_source->context, place.sequence, place.kv_head, begin, count,
                           rows);
}

// What scores are multiplied by: one number for all tokens, or one for each.
void QueryBlock::set_scales() {
  const AttentionCall& call = parts_.call();
  const bool by_position = !call.plan.logit_scales.empty();
  const SequenceParts& sequence = parts_.sequence(place_.sequence);
  scales_.resize(by_position ? static_cast<size_t>(place_.tokens) : 1);
  for (size_t i = 0; i < scales_.size(); ++i) {
    double scale = call.scale;
    if (by_position) {
      const int64_t query = place_.first + static_cast<int64_t>(i);
      scale *= call.plan.logit_scale_at(sequence.query_positions[query]);
    }
    scales_[i] = static_cast<float>(scale);
  }
  block_.scale = scales_.data();
  block_.scale_token_stride = by_position ? 1 : 0;
}

void QueryBlock::set_bias() {
  const AttentionCall& call = parts_.call();
  const SequenceParts& sequence = parts_.sequence(place_.sequence);
  const std::optional<QueryTableBias>& table = call.plan.query_table_bias;
  const bool whole = sequence.seen.whole();
  const int64_t first_head = place_.kv_head * parts_.group();
  if (parts_.slices() && whole) {
    const DistanceSlices& slices = *parts_.slices();
    block_.bias.data = slices.values.data() + first_head * slices.num_distances +
                       slices.last_distance - sequence.query_positions[place_.first] +
                       sequence.key_positions[0];
    block_.bias.token_stride = -1;
    block_.bias.head_stride = slices.num_distances;
    return;
  }
  if (parts_.distance() == nullptr && !table && whole) return;
  bias_.seen = whole ? nullptr : &sequence.seen;
  bias_.distance = parts_.distance();
  bias_.query_positions = sequence.query_positions;
  bias_.key_positions = sequence.key_positions;
  bias_.first_query = place_.first;
  bias_.first_head = first_head;
  bias_.group = parts_.group();
  block_.bias.fill = &TileBias::fill;
  block_.bias.context = &bias_;
  if (!table) return;
  bias_.table = &*table;
  if (!table->adds_to_values) return;
  block_.value_table.data = call.options.learned.value_rows.data();
  block_.value_table.num_rows = table->num_rows();
  block_.value_table.add = &TileBias::add_weights;
  block_.value_table.context = &bias_;
}

void QueryBlock::load(float* scratch) {
  const AttentionCall& call = parts_.call();
  load_queries(block_, scratch);
  float* rows = attention_query_rows(scratch);
  turn_rows(call.plan,
            slice_tokens(call.query_positions, place_.sequence, place_.first, place_.tokens),
            {.role = HeadRole::query}, rows, place_.tokens, parts_.group());
  if (bias_.table == nullptr) return;
  const int64_t num_rows = place_.tokens * parts_.group();
  const int64_t stride = whole_panels(bias_.table->num_rows());
  std::vector<float> panel(static_cast<size_t>(table_panel_size(call.q.head_dim)));
  table_scores_.resize(static_cast<size_t>(num_rows * stride));
  table_scores(rows, num_rows, call.q.head_dim, call.options.learned.key_rows.data(),
               bias_.table->num_rows(), panel.data(), table_scores_.data(), stride);
  bias_.table_scores = table_scores_.data();
  bias_.table_stride = stride;
}

}  // namespace hodometer::internal
