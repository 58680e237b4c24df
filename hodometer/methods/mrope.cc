#include "hodometer/methods/mrope.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hodometer/base/check.h"

namespace hodometer {

namespace {

// The axis of each pair: 0 time, 1 height, 2 width. The sections were checked.
std::vector<uint8_t> mrope_axes(const std::vector<int64_t>& mrope_section, SectionLayout layout) {
  std::vector<uint8_t> axes;
  for (size_t section = 0; section < mrope_section.size(); ++section) {
    axes.insert(axes.end(), static_cast<size_t>(mrope_section[section]),
                static_cast<uint8_t>(section));
  }
  if (layout == SectionLayout::interleaved) {
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t candidate = i % mrope_section.size();
      const bool taken = static_cast<int64_t>(i / mrope_section.size()) < mrope_section[candidate];
      axes[i] = taken ? static_cast<uint8_t>(candidate) : 0;
    }
  }
  if (layout == SectionLayout::alternating) {
    const auto spatial = static_cast<size_t>(mrope_section[0] + mrope_section[1]);
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i] = i >= spatial ? 0 : static_cast<uint8_t>(1 + i % 2);
    }
  }
  return axes;
}

}  // namespace

Status check(const Mrope& spec) {
  HODO_RETURN_IF_ERROR(check(spec.rotary));
  const std::vector<int64_t>& sections = spec.mrope_section;
  if (sections.size() < 2 || sections.size() > 4) {
    return Error{ErrorKind::bad_input,
                 fmt::format("mrope_section has {} entries: expected 2 to 4", sections.size())};
  }
  if (spec.section_layout == SectionLayout::alternating &&
      (sections.size() != 3 || sections[0] != sections[1])) {
    return Error{ErrorKind::bad_input,
                 fmt::format("mrope_section is [{}]: the alternating layout expects height, width "
                             "and time, with as many pairs of height as of width",
                             fmt::join(sections, ", "))};
  }
  int64_t total = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    HODO_RETURN_IF_ERROR(check_at_least(fmt::format("mrope_section[{}]", i), sections[i], 0));
    total += std::min(sections[i], max_head_dim);  // a huge entry must not wrap the sum
  }
  if (total != spec.rotary.band().num_pairs()) {
    return Error{ErrorKind::bad_input,
                 fmt::format("mrope_section [{}] sums to {}: expected rotary_dim / 2, {}",
                             fmt::join(sections, ", "), total, spec.rotary.band().num_pairs())};
  }
  return {};
}

std::vector<Action> actions(const Mrope& spec, int64_t context_length) {
  RotatePairs rotation = rotate_pairs(spec.rotary, context_length);
  rotation.axis = mrope_axes(spec.mrope_section, spec.section_layout);
  rotation.num_axes = static_cast<int64_t>(spec.mrope_section.size());
  return {rotation};
}

}  // namespace hodometer
