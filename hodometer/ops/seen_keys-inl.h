#pragma once

// Private: which keys the queries of a sequence see, as ranges of tokens. Not installed.

#include <cstdint>
#include <optional>
#include <vector>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/ops/attention.h"
#include "hodometer/position/mask.h"
#include "hodometer/position/position_view.h"

namespace hodometer::internal {

/// Whole numbers of the tokens of one sequence: a run from `first` on, or a list.
struct NumberRow {
  int64_t first = 0;
  const int64_t* list = nullptr;
  int64_t stride = 1;

  int64_t operator[](int64_t token) const {
    return list == nullptr ? first + token : list[token * stride];
  }
  bool is_run() const { return list == nullptr; }
};

/// Positions on the first axis of a sequence; a list that counts up by one is a run. `view` has
/// whole numbers and must outlive the row.
NumberRow number_row(const PositionView& view, int64_t sequence, int64_t length);

/// The segments of a sequence.
struct SegmentRow {
  const SegmentId* list = nullptr;
  int64_t stride = 1;

  SegmentId operator[](int64_t token) const { return list[token * stride]; }
};

/// `view` must outlive the row.
SegmentRow segment_row(const SegmentView& view, int64_t sequence);

/// The tokens of one sequence as a mask orders them.
struct MaskedTokens {
  NumberRow order;
  std::optional<SegmentRow> segments = {};
  int64_t length = 0;
};

/// Which keys the queries of one sequence see.
class SeenKeys {
 public:
  SeenKeys(const Mask& mask, const MaskedTokens& queries, const MaskedTokens& keys);

  /// Per query the smallest range with all keys that it sees.
  const std::vector<KeyRange>& ranges() const { return ranges_; }
  /// Whether every query sees all keys of its range.
  bool whole() const { return whole_; }
  bool sees(int64_t query, int64_t key) const;

 private:
  /// Keys [begin, end) of one segment that stand at first, first + 1, ...
  struct Run {
    int64_t begin, end, first;
    SegmentId segment;
  };
  static std::vector<Run> runs_of(const MaskedTokens& keys);
  void add_range(int64_t query, const std::vector<Run>& runs);

  Mask mask_;
  MaskedTokens queries_, keys_;
  std::vector<KeyRange> ranges_;
  bool whole_ = true;
};

}  // namespace hodometer::internal
