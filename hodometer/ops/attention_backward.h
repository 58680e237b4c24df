#pragma once

#include <span>

#include "hodometer/ops/attention.h"

namespace hodometer {

/// Where gradients go. They are written, not added to what is there.
struct AttentionGradients {
  /// Of the shapes of q, k and v, any type and strides; without data: not wanted. May not overlap
  /// each other or what is read.
  HeadsView q = {}, k = {}, v = {};
  /// Of the shapes of what they are gradients of, summed over all that shares them; empty: not
  /// wanted.
  std::span<float> buckets = {};     ///< of LearnedBias::buckets
  std::span<float> key_rows = {};    ///< of LearnedBias::key_rows
  std::span<float> value_rows = {};  ///< of LearnedBias::value_rows
  std::span<float> sinks = {};       ///< of AttentionOptions::sinks
};

/// The gradients of sum(out_gradient * out) of attention(), through softmax, biases, soft cap and
/// the rotation of queries and of keys that came unturned. Gradients of keys that came turned are
/// those of the keys as they came.
///
/// `out` and `log_sums` [batch, q_length, num_heads] are what attention() wrote, out_gradient has
/// the shape of `out`, and everything else is as it was given to attention();
/// AttentionOptions::log_sums is not used. Types may differ.
///
/// Arithmetic is float32 with one rounding on store; scores are made again in tiles, and nothing of
/// size q_length x k_length is made. Where the gradients of q, k and v are all float32 and nothing
/// is learned, they are summed where they are wanted, in 5 products of matrices; else queries and
/// keys take turns with 7 products, and no gradient is held twice. Working memory is below 2 MiB
/// per thread for heads of 128 lanes, and 16 MiB at most for sums of learned gradients. Queries
/// that see no key have zero gradients, and so have keys that no query sees. Results do not depend
/// on the executor.
///
/// Source: FlashAttention-2, arXiv:2307.08691, algorithm 2, in an order of sums that is fixed.
///
/// Errors: as attention(); gradients of other shapes, or of what is not there.
Status attention_backward(const Plan& plan, const HeadsView& q, const HeadsView& k,
                          const HeadsView& v, const HeadsView& out, const HeadsView& out_gradient,
                          const float* log_sums, const AttentionGradients& gradients,
                          const AttentionOptions& options = {},
                          Executor& executor = serial_executor());

}  // namespace hodometer
