#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/rotary.h"

namespace hodometer {

/// Which pairs read which axis of a multi-axis position.
enum class SectionLayout : uint8_t {
  chunked,      ///< section after section: t...t h...h w...w. Qwen2-VL, GLM-4V
  interleaved,  ///< t h w t h w ..., the tail all t. Qwen3-VL
  alternating,  ///< sections (h, w, t): h w h w ..., then t. ERNIE 4.5 VL
};
constexpr auto enum_names(SectionLayout) {
  return std::array<std::pair<SectionLayout, std::string_view>, 3>{
      {{SectionLayout::chunked, "chunked"},
       {SectionLayout::interleaved, "interleaved"},
       {SectionLayout::alternating, "alternating"}}};
}

/// Rotary over positions with several axes (time, height, width). A pair keeps its frequency and
/// reads one axis; text has the same number on every axis, and is then plain rotary.
/// Sources: Qwen2-VL 2024, section 2.1; Hugging Face `apply_multimodal_rotary_pos_emb` (chunked),
/// `apply_interleaved_mrope` (interleaved) and ERNIE 4.5 VL (alternating).
struct Mrope {
  Rotary rotary;
  std::vector<int64_t> mrope_section = {};
  SectionLayout section_layout = SectionLayout::chunked;

  static constexpr std::string_view name = "mrope";
  static constexpr auto fields() {
    return std::tuple_cat(std::tuple{inlined(&Mrope::rotary)},
                          std::tuple{required("mrope_section", &Mrope::mrope_section, "pairs",
                                              "pairs per axis; together rotary_dim / 2"),
                                     required("section_layout", &Mrope::section_layout, "",
                                              "which pairs read which axis")});
  }
};

Status check(const Mrope& spec);
std::vector<Action> actions(const Mrope& spec, int64_t context_length);

}  // namespace hodometer
