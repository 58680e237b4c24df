#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {

/// Widest head that any rotation takes; wider ones are a slip in the input.
inline constexpr int64_t max_head_dim = 65536;

/// Rotary position embedding: pairs of lanes of q and k turned by angles proportional to the
/// position, so that scores depend on the distance alone. Source: Su et al. 2021 (RoFormer),
/// section 3.2.
///
/// Partial rotary turns rotary_dim lanes from rotary_start on and leaves the rest: the first lanes
/// in GPT-J, GPT-NeoX and Phi, the last ones in MLA heads.
struct Rotary {
  int64_t head_dim = 0;
  std::optional<int64_t> rotary_dim = {};
  int64_t rotary_start = 0;
  PairLayout layout = PairLayout::half_split;
  double base = 0;
  FrequencySchedule schedule = DefaultSchedule{};

  static constexpr std::string_view name = "rotary";
  static constexpr auto fields() {
    return std::tuple{
        required("head_dim", &Rotary::head_dim, "lanes", "width of a head"),
        optional("rotary_dim", &Rotary::rotary_dim, "lanes", "lanes that turn; absent: all"),
        optional("rotary_start", &Rotary::rotary_start, "lanes", "first lane that turns"),
        required("layout", &Rotary::layout, "", "which two lanes make a pair"),
        required("base", &Rotary::base, "", "pair i turns base^(-2i/rotary_dim) per position"),
        optional("schedule", &Rotary::schedule, "", "rule that changes the frequencies")};
  }

  int64_t width() const { return rotary_dim.value_or(head_dim); }
  RotaryBand band() const { return {base, width()}; }
};

Status check(const Rotary& spec);
std::vector<Action> actions(const Rotary& spec, int64_t context_length);

/// The one rotation that a Rotary does; methods built on it change it further.
RotatePairs rotate_pairs(const Rotary& spec, int64_t context_length);

}  // namespace hodometer
