#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/result.h"
#include "hodometer/methods/position_spec.h"
#include "hodometer/position/mask.h"

namespace hodometer {

/// Lanes of the one head that the demonstration attends with.
inline constexpr int64_t order_demo_lanes = 8;

/// What attention gives for a word of two sentences.
struct OrderWord {
  std::string word;
  /// Its outputs, [copies, order_demo_lanes], copies of a word in ascending order of their outputs:
  /// which copy is which is nothing that an output could say.
  std::vector<double> first = {};   ///< in the first sentence
  std::vector<double> second = {};  ///< in the second
  double difference = 0;            ///< the largest of any lane
};

/// What one method makes of the two sentences.
struct OrderRow {
  std::string name;   ///< of the method; "none" without one
  PositionSpec spec;  ///< of nope where there is none
  Mask mask = BidirectionalMask();
  std::vector<OrderWord> words;  ///< as in the first sentence, each once
  bool tells_apart = false;      ///< whether any bit of any output differs
  double largest_difference = 0;
  std::string note = {};  ///< why a method cannot tell; a sentence, or empty
};

struct OrderDemo {
  std::vector<std::string> first = {};  ///< words
  std::vector<std::string> second = {};
  std::vector<OrderRow> rows = {};
};

/// Attention over two sentences of the same words in different orders, without and with every
/// method that text is read with, in double precision.
///
/// A word has one vector, whatever its place: order_demo_lanes numbers in [-2, 2) from the hash of
/// its bytes. It is query, key and value at once; there is one head and there are no weights, so
/// all that can differ comes from the order. What a method learns comes from a generator with the
/// fixed seed order_demo_seed.
///
/// Words are separated by spaces and equal when their bytes are. Errors: an empty sentence, more
/// than 64 words, words that are not the same in both (the first such word is named), and twice the
/// same order.
Result<OrderDemo> order_demo(std::string_view first, std::string_view second);

/// What the learned tables of the demonstration are drawn from.
inline constexpr uint64_t order_demo_seed = 1;

}  // namespace hodometer
