#include "hodometer/ops/attention_backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hodometer/kernels/attention_backward.h"
#include "hodometer/kernels/convert.h"
#include "hodometer/ops/attention_checks-inl.h"
#include "hodometer/ops/attention_waves-inl.h"
#include "hodometer/ops/learned_gradients-inl.h"
#include "hodometer/ops/query_block-inl.h"
#include "hodometer/ops/scratch_pool-inl.h"
#include "hodometer/ops/token_runs-inl.h"

namespace hodometer {
namespace {

using internal::AttentionCall;
using internal::AttentionParts;
using internal::BlockPlace;
using internal::BlockSums;
using internal::element;
using internal::LearnedSums;
using internal::QueryBlock;

constexpr std::string_view operation = "attention_backward";
/// Keys whose gradients a task sums at once: tiles of the kernel. More would save some loading of
/// queries and cost each thread memory.
constexpr int64_t chunk_keys = 384;
/// Numbers of partial sums of learned gradients, 16 MiB.
constexpr size_t most_partial_sums = size_t{1} << 21;

Status refuse(std::string text) {
  return Error{ErrorKind::usage, fmt::format("{}: {}", operation, text)};
}

Status check_like(std::string_view name, const HeadsView& heads, const HeadsView& like) {
  HODO_RETURN_IF_ERROR(internal::check_extents(fmt::format("{}: {}", operation, name), heads.data,
                                               dtype_size(heads.dtype),
                                               {{"batch", heads.batch, heads.batch_stride},
                                                {"length", heads.length, heads.length_stride},
                                                {"heads", heads.heads, heads.head_stride},
                                                {"head_dim", heads.head_dim, 1}}));
  if (heads.batch != like.batch || heads.length != like.length || heads.heads != like.heads ||
      heads.head_dim != like.head_dim) {
    return refuse(fmt::format("{} is [{}, {}, {}, {}]: expected [{}, {}, {}, {}]", name,
                              heads.batch, heads.length, heads.heads, heads.head_dim, like.batch,
                              like.length, like.heads, like.head_dim));
  }
  return {};
}

Status check_wanted(std::string_view name, std::span<float> gradient, size_t size) {
  if (gradient.empty() || gradient.size() == size) return {};
  return refuse(
      fmt::format("gradients.{} has {} values: expected {}, or none", name, gradient.size(), size));
}

Status check_gradients(const AttentionCall& call, const HeadsView& out_gradient,
                       const float* log_sums, const AttentionGradients& gradients) {
  HODO_RETURN_IF_ERROR(check_like("out_gradient", out_gradient, call.out));
  if (log_sums == nullptr && call.q.batch * call.q.length * call.q.heads > 0) {
    return refuse("no log_sums: expected what attention() wrote");
  }
  const auto check_heads = [&](std::string_view name, const HeadsView& to, const HeadsView& like) {
    return to.data == nullptr ? Status() : check_like(name, to, like);
  };
  HODO_RETURN_IF_ERROR(check_heads("gradients.q", gradients.q, call.q));
  HODO_RETURN_IF_ERROR(check_heads("gradients.k", gradients.k, call.k));
  HODO_RETURN_IF_ERROR(check_heads("gradients.v", gradients.v, call.v));
  const LearnedBias& learned = call.options.learned;
  HODO_RETURN_IF_ERROR(check_wanted("buckets", gradients.buckets, learned.buckets.size()));
  HODO_RETURN_IF_ERROR(check_wanted("key_rows", gradients.key_rows, learned.key_rows.size()));
  HODO_RETURN_IF_ERROR(check_wanted("value_rows", gradients.value_rows, learned.value_rows.size()));
  return check_wanted("sinks", gradients.sinks, call.options.sinks.size());
}

int64_t parts_of(int64_t length, int64_t part) { return (length + part - 1) / part; }

/// A tensor whose lanes are float32 as rows of one key head, for kernels that add to it.
float* float_row(const HeadsView& heads, int64_t batch, int64_t token, int64_t head) {
  return static_cast<float*>(const_cast<void*>(element(heads, batch, token, head)));
}

/// Everything that tasks share.
class Backward {
 public:
  Backward(const AttentionCall& call, const HeadsView& out_gradient, const float* log_sums,
           const AttentionGradients& gradients)
      : call_(call),
        out_gradient_(out_gradient),
        log_sums_(log_sums),
        gradients_(gradients),
        parts_(call) {
    parts_.make_slices();
    block_tokens_ = attention_gradient_tokens(parts_.group());
    if (!gradients.buckets.empty()) buckets_.emplace(*call.plan.distance_bias);
  }

  void run(Executor& executor) {
    if (sums_in_place()) {
      run_waves(executor);
    } else {
      run_queries(executor);
      run_keys(executor);
    }
    if (!gradients_.sinks.empty()) {
      const auto sink = [&](int64_t head) { sum_sink(head); };
      executor.run(call_.q.heads, sink);
    }
  }

 private:
  /// Where the gradients of a block are added.
  struct Targets {
    QueryGradient query = {};
    KeyGradient key = {}, value = {};
  };

  // Sums by bucket or table row are made per query over all of its keys, which waves part.
  bool sums_in_place() const {
    const auto in_place = [](const HeadsView& heads) {
      return heads.data == nullptr || heads.dtype == DType::float32;
    };
    return in_place(gradients_.q) && in_place(gradients_.k) && in_place(gradients_.v) &&
           !call_.plan.query_table_bias && !buckets_;
  }

  const internal::BucketPlaces* buckets() const { return buckets_ ? &*buckets_ : nullptr; }

  BlockPlace place(int64_t sequence, int64_t kv_head, int64_t first) const {
    return {sequence, kv_head, first, std::min(block_tokens_, call_.q.length - first)};
  }

  // What the queries of a place see, with what is beside it on both sides.
  KeyRange seen(int64_t sequence, int64_t first, int64_t tokens) const {
    return internal::union_of(
        std::span(parts_.sequence(sequence).seen.ranges())
            .subspan(static_cast<size_t>(first), static_cast<size_t>(tokens)));
  }

  // Adds the gradients of some keys and of one block of queries by way of them. `learned` is null
  // where the keys are not all of them.
  void add_block(const BlockPlace& place, const KeyRange& keys, const Targets& targets,
                 LearnedSums* learned) {
    const int64_t first_head = place.kv_head * parts_.group();
    QueryBlock queries(parts_, place);
    BlockSums sums(parts_, place, learned == nullptr ? nullptr : buckets());
    AttentionGradientBlock block;
    block.attention = queries.block();
    block.out_gradient = {out_gradient_.dtype,
                          element(out_gradient_, place.sequence, place.first, first_head),
                          out_gradient_.length_stride, out_gradient_.head_stride};
    block.log_sum =
        log_sums_ + (place.sequence * call_.q.length + place.first) * call_.q.heads + first_head;
    block.log_sum_token_stride = call_.q.heads;
    block.log_sum_head_stride = 1;
    block.keys = keys;
    block.query_gradient = targets.query;
    block.key_gradient = targets.key;
    block.value_gradient = targets.value;
    std::vector<float> scratch = pool_.take(attention_gradient_scratch_size(block));
    queries.load(scratch.data());
    load_out_gradients(block, scratch.data());
    sums.join_values(block, scratch.data());
    if (learned != nullptr) sums.sum(block);
    attend_backward(block, scratch.data());
    if (learned != nullptr) sums.finish(block, scratch.data(), targets.query.data, *learned);
    pool_.give_back(std::move(scratch));
  }

  // Rows [tokens, heads, dim] of float32, through the transpose of the rotation where there is a
  // role, to where they are wanted.
  void store(const HeadsView& to, const BlockPlace& at, int64_t first_head, int64_t heads,
             std::optional<HeadRole> role, float* rows) const {
    if (role) {
      const PositionView& positions =
          *role == HeadRole::query ? call_.query_positions : call_.key_positions;
      internal::turn_rows(call_.plan,
                          internal::slice_tokens(positions, at.sequence, at.first, at.tokens),
                          {Direction::transpose, role}, rows, at.tokens, heads);
    }
    for (int64_t token = 0; token < at.tokens; ++token) {
      for (int64_t head = 0; head < heads; ++head, rows += to.head_dim) {
        from_float32(
            to.dtype, rows,
            const_cast<void*>(element(to, at.sequence, at.first + token, first_head + head)),
            to.head_dim);
      }
    }
  }

  void store_queries(const BlockPlace& at, int64_t first_head, int64_t heads, float* rows) const {
    const int64_t lanes = heads * call_.q.head_dim;
    const internal::NumberRow& positions = parts_.sequence(at.sequence).query_positions;
    for (int64_t token = 0; token < at.tokens; ++token) {
      double scale = call_.scale;
      if (!call_.plan.logit_scales.empty()) {
        scale *= call_.plan.logit_scale_at(positions[at.first + token]);
      }
      for (int64_t i = 0; i < lanes; ++i) rows[token * lanes + i] *= static_cast<float>(scale);
    }
    store(gradients_.q, at, first_head, heads, HeadRole::query, rows);
  }

  // Queries in scratch memory have a factor, and so have the gradients of keys.
  void store_keys(const BlockPlace& at, int64_t first_head, int64_t heads, float* rows) const {
    for (int64_t i = 0; i < at.tokens * heads * call_.k.head_dim; ++i) rows[i] /= kQueryFactor;
    std::optional<HeadRole> role = HeadRole::key;
    if (call_.options.keys == KeyState::turned) role.reset();
    store(gradients_.k, at, first_head, heads, role, rows);
  }

  // A task for each block of queries and key head, over all keys that it sees. Tasks with sums of
  // learned gradients are strung on so many chains that partial sums stay small, and added in the
  // order of the chains.
  void run_queries(Executor& executor) {
    LearnedSums total;
    total.buckets.resize(gradients_.buckets.size());
    total.key_rows.resize(gradients_.key_rows.size());
    total.value_rows.resize(gradients_.value_rows.size());
    if (gradients_.q.data == nullptr && total.size() == 0) return;
    const int64_t blocks = parts_of(call_.q.length, block_tokens_);
    const int64_t tasks = call_.q.batch * call_.k.heads * blocks;
    constexpr size_t most_chains = 64;
    const auto chains =
        total.size() == 0 ? tasks
                          : std::min(tasks, static_cast<int64_t>(std::clamp<size_t>(
                                                most_partial_sums / total.size(), 1, most_chains)));
    std::vector<LearnedSums> partial(static_cast<size_t>(total.size() == 0 ? 0 : chains), total);
    const auto chain = [&](int64_t index) {
      LearnedSums none;
      LearnedSums& sums = partial.empty() ? none : partial[static_cast<size_t>(index)];
      for (int64_t task = index; task < tasks; task += chains) {
        // Late blocks see the most keys under a causal mask and come first.
        const int64_t block = blocks - 1 - task / (call_.q.batch * call_.k.heads);
        query_block(place(task / call_.k.heads % call_.q.batch, task % call_.k.heads,
                          block * block_tokens_),
                    sums);
      }
    };
    executor.run(chains, chain);
    for (const LearnedSums& sums : partial) total.add(sums);
    std::copy(total.buckets.begin(), total.buckets.end(), gradients_.buckets.begin());
    std::copy(total.key_rows.begin(), total.key_rows.end(), gradients_.key_rows.begin());
    std::copy(total.value_rows.begin(), total.value_rows.end(), gradients_.value_rows.begin());
  }

  void query_block(const BlockPlace& at, LearnedSums& learned) {
    const int64_t dim = call_.q.head_dim, group = parts_.group();
    const int64_t size = at.tokens * group * dim;
    std::vector<float> rows = rows_pool_.take(size);
    std::fill_n(rows.begin(), size, 0.0f);
    Targets targets;
    if (gradients_.q.data != nullptr) targets.query = {rows.data(), group * dim, dim};
    add_block(at, {0, call_.k.length}, targets, &learned);
    if (gradients_.q.data != nullptr) {
      store_queries(at, at.kv_head * group, group, rows.data());
    }
    rows_pool_.give_back(std::move(rows));
  }

  // A task for each chunk of keys of a head, over all queries that see it.
  void run_keys(Executor& executor) {
    if (gradients_.k.data == nullptr && gradients_.v.data == nullptr) return;
    const int64_t chunks = parts_of(call_.k.length, chunk_keys);
    const auto task = [&](int64_t index) {
      // Early keys are seen by the most queries under a causal mask and come first.
      const int64_t first = index / (call_.k.heads * call_.k.batch) * chunk_keys;
      key_chunk({index / call_.k.heads % call_.k.batch, index % call_.k.heads, first,
                 std::min(chunk_keys, call_.k.length - first)});
    };
    executor.run(call_.k.batch * call_.k.heads * chunks, task);
  }

  void key_chunk(const BlockPlace& at) {
    const int64_t dim = call_.k.head_dim, value_dim = call_.v.head_dim;
    const int64_t size = at.tokens * (dim + value_dim);
    std::vector<float> rows = rows_pool_.take(size);
    std::fill_n(rows.begin(), size, 0.0f);
    float* values = rows.data() + at.tokens * dim;
    Targets targets;
    if (gradients_.k.data != nullptr) targets.key = {rows.data() - at.first * dim, dim};
    if (gradients_.v.data != nullptr) targets.value = {values - at.first * value_dim, value_dim};
    const KeyRange keys{at.first, at.first + at.tokens};
    for (int64_t first = 0; first < call_.q.length; first += block_tokens_) {
      const BlockPlace queries = place(at.sequence, at.kv_head, first);
      if (internal::meet(seen(at.sequence, first, queries.tokens), keys)) {
        add_block(queries, keys, targets, nullptr);
      }
    }
    if (gradients_.k.data != nullptr) store_keys(at, at.kv_head, 1, rows.data());
    if (gradients_.v.data != nullptr) store(gradients_.v, at, at.kv_head, 1, {}, values);
    rows_pool_.give_back(std::move(rows));
  }

  // Steps of tasks that share no query and no key, so that each adds to the gradients where they
  // lie; a sum's terms come in the order of the steps.
  void run_waves(Executor& executor) {
    if (gradients_.q.data == nullptr && gradients_.k.data == nullptr &&
        gradients_.v.data == nullptr) {
      return;
    }
    const int64_t tokens = internal::wave_tokens(std::max(call_.q.length, call_.k.length));
    const auto for_parts = [&](const HeadsView& to, const auto& body) {
      if (to.data == nullptr) return;
      constexpr int64_t together = 8;
      const int64_t parts = parts_of(to.length, together);
      const auto task = [&](int64_t index) {
        const int64_t first = index % parts * together;
        body({index / parts, 0, first, std::min(together, to.length - first)});
      };
      executor.run(to.batch * parts, task);
    };
    for (const HeadsView& to : {gradients_.q, gradients_.k, gradients_.v}) {
      for_parts(to, [&](const BlockPlace& at) {
        std::vector<float> zeros(static_cast<size_t>(at.tokens * to.heads * to.head_dim));
        store(to, at, 0, to.heads, {}, zeros.data());
      });
    }
    std::vector<internal::Waves> waves;
    size_t steps = 0;
    for (int64_t b = 0; b < call_.q.batch; ++b) {
      waves.push_back(
          internal::make_waves(parts_.sequence(b).seen.ranges(), call_.k.length, tokens));
      steps = std::max(steps, waves.back().size());
    }
    for (size_t step = 0; step < steps; ++step) {
      std::vector<std::pair<int64_t, internal::WavePair>> pairs;
      for (int64_t b = 0; b < call_.q.batch; ++b) {
        const internal::Waves& of_sequence = waves[static_cast<size_t>(b)];
        if (step >= of_sequence.size()) continue;
        for (const internal::WavePair& pair : of_sequence[step]) pairs.emplace_back(b, pair);
      }
      const auto task = [&](int64_t index) {
        const auto& [sequence, pair] = pairs[static_cast<size_t>(index / call_.k.heads)];
        add_pair(sequence, index % call_.k.heads, pair, tokens);
      };
      executor.run(static_cast<int64_t>(pairs.size()) * call_.k.heads, task);
    }
    for_parts(gradients_.q, [&](const BlockPlace& at) {
      std::vector<float> rows = gather(gradients_.q, at);
      store_queries(at, 0, call_.q.heads, rows.data());
    });
    for_parts(gradients_.k, [&](const BlockPlace& at) {
      std::vector<float> rows = gather(gradients_.k, at);
      store_keys(at, 0, call_.k.heads, rows.data());
    });
  }

  static std::vector<float> gather(const HeadsView& from, const BlockPlace& at) {
    std::vector<float> rows;
    for (int64_t token = 0; token < at.tokens; ++token) {
      for (int64_t head = 0; head < from.heads; ++head) {
        const float* row = float_row(from, at.sequence, at.first + token, head);
        rows.insert(rows.end(), row, row + from.head_dim);
      }
    }
    return rows;
  }

  void add_pair(int64_t sequence, int64_t kv_head, const internal::WavePair& pair, int64_t tokens) {
    const KeyRange keys{pair.keys * tokens, std::min((pair.keys + 1) * tokens, call_.k.length)};
    const int64_t end = std::min((pair.queries + 1) * tokens, call_.q.length);
    for (int64_t first = pair.queries * tokens; first < end; first += block_tokens_) {
      BlockPlace at = place(sequence, kv_head, first);
      at.tokens = std::min(at.tokens, end - first);
      if (!internal::meet(seen(sequence, first, at.tokens), keys)) continue;
      Targets targets;
      const HeadsView &q = gradients_.q, &k = gradients_.k, &v = gradients_.v;
      if (q.data != nullptr) {
        targets.query = {float_row(q, sequence, first, kv_head * parts_.group()), q.length_stride,
                         q.head_stride};
      }
      if (k.data != nullptr) targets.key = {float_row(k, sequence, 0, kv_head), k.length_stride};
      if (v.data != nullptr) targets.value = {float_row(v, sequence, 0, kv_head), v.length_stride};
      add_block(at, keys, targets, nullptr);
    }
  }

  // A sink's probability p has no value, so its gradient is the sum of -p delta.
  void sum_sink(int64_t head) const {
    constexpr int64_t together = 64;
    float deltas[together];
    double sum = 0;
    const double sink = static_cast<double>(call_.options.sinks[static_cast<size_t>(head)]);
    for (int64_t b = 0; b < call_.q.batch; ++b) {
      for (int64_t first = 0; first < call_.q.length; first += together) {
        const int64_t tokens = std::min(together, call_.q.length - first);
        const auto rows = [&](const HeadsView& heads) {
          return QueryRows<const void>{heads.dtype, element(heads, b, first, head),
                                       heads.length_stride, heads.head_stride};
        };
        multiply_rows(
            {tokens, 1, call_.out.head_dim, rows(call_.out), rows(out_gradient_), deltas, 1, 0});
        for (int64_t i = 0; i < tokens; ++i) {
          const double log_sum = static_cast<double>(
              log_sums_[(b * call_.q.length + first + i) * call_.q.heads + head]);
          if (std::isinf(sink) || std::isinf(log_sum)) continue;
          sum -= std::exp(sink - log_sum) * static_cast<double>(deltas[i]);
        }
      }
    }
    gradients_.sinks[static_cast<size_t>(head)] = static_cast<float>(sum);
  }

  const AttentionCall& call_;
  const HeadsView out_gradient_;
  const float* const log_sums_;
  const AttentionGradients& gradients_;
  AttentionParts parts_;
  std::optional<internal::BucketPlaces> buckets_;
  int64_t block_tokens_ = 1;
  internal::ScratchPool pool_, rows_pool_;
};

}  // namespace

Status attention_backward(const Plan& plan, const HeadsView& q, const HeadsView& k,
                          const HeadsView& v, const HeadsView& out, const HeadsView& out_gradient,
                          const float* log_sums, const AttentionGradients& gradients,
                          const AttentionOptions& options, Executor& executor) {
  HODO_ASSIGN(const AttentionCall call, internal::check_attention(plan, q, k, v, out, options));
  HODO_RETURN_IF_ERROR(check_gradients(call, out_gradient, log_sums, gradients));
  for (const auto& learned :
       {gradients.buckets, gradients.key_rows, gradients.value_rows, gradients.sinks}) {
    std::fill(learned.begin(), learned.end(), 0.0f);
  }
  if (q.batch == 0 || k.heads == 0 || q.heads == 0) return {};
  Backward(call, out_gradient, log_sums, gradients).run(executor);
  return {};
}

}  // namespace hodometer
