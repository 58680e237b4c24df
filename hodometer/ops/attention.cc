#include "hodometer/ops/attention.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "hodometer/kernels/attention_decode.h"
#include "hodometer/kernels/attention_forward.h"
#include "hodometer/ops/attention_checks-inl.h"
#include "hodometer/ops/query_block-inl.h"
#include "hodometer/ops/scratch_pool-inl.h"

namespace hodometer {
namespace {

using internal::AttentionCall;
using internal::AttentionParts;
using internal::QueryBlock;
using internal::ScratchPool;

/// Many queries: a task for each block of them and key head, over all keys that the block sees.
void attend_blocks(AttentionParts& parts, Executor& executor) {
  const AttentionCall& call = parts.call();
  const int64_t block_tokens =
      attention_block_tokens(parts.group(), call.q.head_dim, call.v.head_dim);
  const int64_t blocks = (call.q.length - 1) / block_tokens + 1;
  const int64_t heads = call.q.batch * call.k.heads;
  parts.make_slices();
  ScratchPool pool;
  const auto task = [&](int64_t index) {
    // Late blocks see the most keys under a causal mask and come first, so that no thread ends
    // with one alone.
    const int64_t first = (blocks - 1 - index / heads) * block_tokens;
    QueryBlock queries(parts, {index / call.k.heads % call.q.batch, index % call.k.heads, first,
                               std::min(block_tokens, call.q.length - first)});
    std::vector<float> scratch = pool.take(attention_scratch_size(queries.block()));
    queries.load(scratch.data());
    attend(queries.block(), scratch.data());
    pool.give_back(std::move(scratch));
  };
  executor.run(heads * blocks, task);
}

/// Few queries: a task for each part of the keys, over all heads whose keys lie side by side.
class DecodeRun {
 public:
  explicit DecodeRun(const AttentionParts& parts) : parts_(parts), call_(parts.call()) {
    together_ = call_.k.head_stride < call_.k.length_stride ? call_.k.heads : 1;
    sets_ = call_.q.batch * call_.k.heads / together_;
    for (int64_t b = 0; b < call_.q.batch; ++b) {
      const KeyRange seen = seen_keys(b);
      if (seen.begin < seen.end) {
        num_parts_ = std::max(num_parts_, (seen.end - 1) / part_keys - seen.begin / part_keys + 1);
      }
    }
  }

  void run(Executor& executor) {
    const QueryBlock one(parts_, place(0, 0));
    scratch_size_ = attend_keys_scratch_size(one.block());
    partial_size_ = attention_partial_size(one.block());
    partials_.resize(
        static_cast<size_t>(call_.q.batch * call_.k.heads * num_parts_ * partial_size_));
    const auto attend = [&](int64_t index) { attend_part(index / num_parts_, index % num_parts_); };
    executor.run(sets_ * num_parts_, attend);
    const auto merge = [&](int64_t index) {
      const QueryBlock block(parts_, place(index / call_.k.heads, index % call_.k.heads));
      const int64_t set = index / together_;
      merge_partials(block.block(), partial(set, 0) + index % together_ * partial_size_, num_parts_,
                     together_ * partial_size_);
    };
    executor.run(call_.q.batch * call_.k.heads, merge);
  }

 private:
  /// The bits of a result hang on it, so it does not go by the number of threads.
  static constexpr int64_t part_keys = 2048;

  internal::BlockPlace place(int64_t sequence, int64_t kv_head) const {
    return {sequence, kv_head, 0, call_.q.length};
  }

  KeyRange seen_keys(int64_t sequence) const {
    KeyRange seen{call_.k.length, 0};
    for (const KeyRange& range : parts_.sequence(sequence).seen.ranges()) {
      if (range.begin >= range.end) continue;
      seen = {std::min(seen.begin, range.begin), std::max(seen.end, range.end)};
    }
    return seen;
  }

  // Partial results lie by set, part of the keys, head.
  float* partial(int64_t set, int64_t part) {
    return partials_.data() + (set * num_parts_ + part) * together_ * partial_size_;
  }

  void attend_part(int64_t set, int64_t part) {
    const int64_t sequence = set * together_ / call_.k.heads;
    const int64_t first_head = set * together_ % call_.k.heads;
    std::vector<float> scratch = pool_.take(together_ * scratch_size_);
    std::deque<QueryBlock> queries;
    std::vector<AttentionBlock> blocks;
    for (int64_t i = 0; i < together_; ++i) {
      QueryBlock& block = queries.emplace_back(parts_, place(sequence, first_head + i));
      block.load(scratch.data() + i * scratch_size_);
      blocks.push_back(block.block());
    }
    const KeyRange seen = seen_keys(sequence);
    const int64_t begin = (seen.begin / part_keys + part) * part_keys;
    const KeyRange keys{std::clamp(seen.begin, begin, begin + part_keys),
                        std::min(seen.end, begin + part_keys)};
    attend_keys(blocks, {keys.begin, std::max(keys.begin, keys.end)}, scratch.data(),
                partial(set, part));
    pool_.give_back(std::move(scratch));
  }

  const AttentionParts& parts_;
  const AttentionCall& call_;
  int64_t together_ = 1;   ///< key heads of a task
  int64_t sets_ = 1;       ///< sets of so many heads, of all sequences
  int64_t num_parts_ = 1;  ///< of the keys
  int64_t scratch_size_ = 0;
  int64_t partial_size_ = 0;
  std::vector<float> partials_;
  ScratchPool pool_;
};

}  // namespace

void internal::run_attention(const AttentionCall& call, Executor& executor) {
  if (call.q.batch == 0 || call.q.length == 0 || call.q.heads == 0) return;
  AttentionParts parts(call);
  // Where few rows share a key, reading keys where they lie is faster than packing them; and few
  // tokens are too few tasks unless their keys are parted.
  constexpr int64_t few_rows = 16, few_tokens = 2;
  if (call.q.length <= few_tokens || call.q.length * parts.group() <= few_rows) {
    DecodeRun(parts).run(executor);
  } else {
    attend_blocks(parts, executor);
  }
}

Status attention(const Plan& plan, const HeadsView& q, const HeadsView& k, const HeadsView& v,
                 const HeadsView& out, const AttentionOptions& options, Executor& executor) {
  HODO_ASSIGN(const AttentionCall call, internal::check_attention(plan, q, k, v, out, options));
  internal::run_attention(call, executor);
  return {};
}

}  // namespace hodometer
