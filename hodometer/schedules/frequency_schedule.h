#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/real.h"
#include "hodometer/base/result.h"

/// Every rule that turns a base into the inverse frequencies of the rotated pairs.
///
/// Each rule is a struct of parameters, whose names are Hugging Face's keys, and two functions:
///
///     Status      check(rule, band)                        are the parameters usable?
///     Frequencies frequencies(rule, band, context_length)  the paper, in double-double
///
/// Only the rules that look at the current length read context_length, which is the largest
/// position + 1; those have a member changes_beyond(), the length up to which nothing changes.
/// Nothing depends on what was called before.
namespace hodometer {

/// What every rule starts from: pair i of rotary_dim / 2 turns base^(-2i / rotary_dim) radians per
/// position.
struct RotaryBand {
  double base = 0;
  int64_t rotary_dim = 0;

  int64_t num_pairs() const { return rotary_dim / 2; }
};

/// What every rule gives.
struct Frequencies {
  std::vector<Real> inv_freq = {};  ///< radians per position, one per pair
  double attention_factor = 1;      ///< multiplies cos and sin
};

/// No rule: inv_freq = base^(-2i/d). Source: RoFormer, section 3.2.2.
struct DefaultSchedule {
  static constexpr std::string_view name = "default";
  static constexpr auto fields() { return std::tuple{}; }
};

/// Position interpolation: every frequency divided by the factor. Source: Chen et al. 2023, eq. 4.
struct LinearSchedule {
  double factor = 0;

  static constexpr std::string_view name = "linear";
  static constexpr auto fields() {
    return std::tuple{required("factor", &LinearSchedule::factor, "",
                               "new length over trained length; 4 means positions advance by 1/4")};
  }
};

/// The published readings of "NTK-aware", which differ in what happens to the first pair.
enum class NtkVariant : uint8_t {
  /// base * factor^(d/(d-2)): the first pair is kept, the last divided by exactly the factor.
  scaled_base,
  /// base * factor, then every frequency divided by factor^(2/d): also the first.
  scaled_all,
  /// frequency i divided by exp(a (i+1)^mixed_b), a = ln(factor) / (d/2)^mixed_b.
  mixed,
};
constexpr auto enum_names(NtkVariant) {
  return std::array<std::pair<NtkVariant, std::string_view>, 3>{
      {{NtkVariant::scaled_base, "scaled_base"},
       {NtkVariant::scaled_all, "scaled_all"},
       {NtkVariant::mixed, "mixed"}}};
}

/// NTK-aware interpolation with a fixed factor ("alpha"). Source: bloc97 2023 (scaled_base); Su,
/// "Transformer upgrade road 11", 2023 (scaled_all, mixed), as vLLM's rope_type "ntk" computes it.
struct NtkSchedule {
  double factor = 0;
  NtkVariant variant = NtkVariant::scaled_base;
  std::optional<double> mixed_b = {};

  static constexpr std::string_view name = "ntk";
  static constexpr auto fields() {
    return std::tuple{
        required("factor", &NtkSchedule::factor, "", "alpha: the last pair is divided by it"),
        required("variant", &NtkSchedule::variant, "", "which published rule"),
        optional("mixed_b", &NtkSchedule::mixed_b, "", "exponent of the mixed variant")};
  }
};

/// NTK-aware whose base grows with the current length; plain up to the trained length.
/// Source: Hugging Face `_compute_dynamic_ntk_parameters`.
struct DynamicNtkSchedule {
  double factor = 0;
  int64_t original_max_position_embeddings = 0;

  int64_t changes_beyond() const { return original_max_position_embeddings; }

  static constexpr std::string_view name = "dynamic";
  static constexpr auto fields() {
    return std::tuple{
        required("factor", &DynamicNtkSchedule::factor, "", "how fast the base grows"),
        required("original_max_position_embeddings",
                 &DynamicNtkSchedule::original_max_position_embeddings, "positions",
                 "trained length, up to which nothing changes")};
  }
};

/// Dynamic NTK whose alpha steps at doublings of the trained length. Source: Qwen 1's modelling
/// code (`get_ntk_alpha`).
struct DynamicNtkStepsSchedule {
  int64_t original_max_position_embeddings = 0;

  int64_t changes_beyond() const { return original_max_position_embeddings; }

  static constexpr std::string_view name = "dynamic_steps";
  static constexpr auto fields() {
    return std::tuple{required("original_max_position_embeddings",
                               &DynamicNtkStepsSchedule::original_max_position_embeddings,
                               "positions", "trained length, up to which nothing changes")};
  }
};

/// The blend that came before YaRN: linear and NTK mixed by one ramp, then mixed with the plain
/// frequencies by another. Source: jquesnelle/yarn, `LlamaPartNTKScaledRotaryEmbedding`.
struct NtkByPartsSchedule {
  double factor = 0;
  int64_t original_max_position_embeddings = 0;
  double ntk_factor = 1;
  double extrapolation_factor = 1;

  static constexpr std::string_view name = "ntk_by_parts";
  static constexpr auto fields() {
    return std::tuple{
        required("factor", &NtkByPartsSchedule::factor, "", "new length over trained length"),
        required("original_max_position_embeddings",
                 &NtkByPartsSchedule::original_max_position_embeddings, "positions",
                 "trained length"),
        optional("ntk_factor", &NtkByPartsSchedule::ntk_factor, "", "weight of the NTK part"),
        optional("extrapolation_factor", &NtkByPartsSchedule::extrapolation_factor, "",
                 "weight of the plain part")};
  }
};

/// YaRN: fast pairs kept, slow pairs interpolated, a ramp between, and a magnitude.
/// Source: Peng et al. 2023, sections 3.2 to 3.4; the magnitude's precedence as in Hugging Face's
/// `_compute_yarn_parameters`.
struct YarnSchedule {
  double factor = 0;
  int64_t original_max_position_embeddings = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;
  double extrapolation_factor = 1;
  std::optional<double> attention_factor = {};
  std::optional<double> mscale = {};
  std::optional<double> mscale_all_dim = {};

  static constexpr std::string_view name = "yarn";
  static constexpr auto fields() {
    return std::tuple{
        required("factor", &YarnSchedule::factor, "", "new length over trained length"),
        required("original_max_position_embeddings",
                 &YarnSchedule::original_max_position_embeddings, "positions", "trained length"),
        optional("beta_fast", &YarnSchedule::beta_fast, "turns",
                 "pairs that turn more often within the trained length are kept"),
        optional("beta_slow", &YarnSchedule::beta_slow, "turns",
                 "pairs that turn less often are divided by the factor"),
        optional("truncate", &YarnSchedule::truncate, "", "round the ramp's ends outwards"),
        optional("extrapolation_factor", &YarnSchedule::extrapolation_factor, "",
                 "weight of the plain part"),
        optional("attention_factor", &YarnSchedule::attention_factor, "",
                 "magnitude of cos and sin; replaces the computed one"),
        optional("mscale", &YarnSchedule::mscale, "", "numerator of the magnitude's ratio"),
        optional("mscale_all_dim", &YarnSchedule::mscale_all_dim, "",
                 "denominator of the magnitude's ratio")};
  }
};

/// The magnitude that YaRN gives a factor: 1 up to factor 1, else 0.1 mscale ln(factor) + 1.
/// Source: Peng et al. 2023, eq. 22; DeepSeek-V2 for mscale.
double yarn_magnitude(double factor, double mscale);

/// The rule of Llama 3.1 and later: long wavelengths divided by the factor, short ones kept, a
/// blend between; equal factors make a step. Source: Meta's llama-models, `apply_scaling`.
struct Llama3Schedule {
  double factor = 0;
  double low_freq_factor = 0;
  double high_freq_factor = 0;
  int64_t original_max_position_embeddings = 0;

  static constexpr std::string_view name = "llama3";
  static constexpr auto fields() {
    return std::tuple{
        required("factor", &Llama3Schedule::factor, "", "divisor of the slow pairs"),
        required("low_freq_factor", &Llama3Schedule::low_freq_factor, "turns",
                 "pairs that turn less often within the trained length are divided"),
        required("high_freq_factor", &Llama3Schedule::high_freq_factor, "turns",
                 "pairs that turn more often are kept"),
        required("original_max_position_embeddings",
                 &Llama3Schedule::original_max_position_embeddings, "positions", "trained length")};
  }
};

/// LongRoPE: a divisor per pair from one of two lists; the long list from trained length + 1 on.
/// Source: Ding et al. 2024, section 3; magnitude and switch as in Hugging Face's
/// `_compute_longrope_parameters`.
struct LongRopeSchedule {
  std::vector<double> short_factor = {};
  std::vector<double> long_factor = {};
  int64_t original_max_position_embeddings = 0;
  std::optional<double> factor = {};
  std::optional<int64_t> max_position_embeddings = {};
  std::optional<double> attention_factor = {};
  std::optional<double> short_mscale = {};
  std::optional<double> long_mscale = {};

  int64_t changes_beyond() const { return original_max_position_embeddings; }

  static constexpr std::string_view name = "longrope";
  static constexpr auto fields() {
    return std::tuple{
        required("short_factor", &LongRopeSchedule::short_factor, "",
                 "divisor per pair up to the trained length"),
        required("long_factor", &LongRopeSchedule::long_factor, "",
                 "divisor per pair beyond the trained length"),
        required("original_max_position_embeddings",
                 &LongRopeSchedule::original_max_position_embeddings, "positions",
                 "trained length"),
        optional("factor", &LongRopeSchedule::factor, "",
                 "extension that the magnitude is computed from"),
        optional("max_position_embeddings", &LongRopeSchedule::max_position_embeddings, "positions",
                 "extended length; gives the factor when that is absent"),
        optional("attention_factor", &LongRopeSchedule::attention_factor, "",
                 "magnitude of cos and sin; replaces the computed one"),
        optional("short_mscale", &LongRopeSchedule::short_mscale, "",
                 "magnitude up to the trained length"),
        optional("long_mscale", &LongRopeSchedule::long_mscale, "",
                 "magnitude beyond the trained length")};
  }
};

/// A full-width pairing of which only the first pairs turn; the exponent's denominator stays the
/// full width. Source: Hugging Face's "proportional" rope type (Gemma 4).
struct ProportionalSchedule {
  double partial_rotary_factor = 1;
  double factor = 1;

  static constexpr std::string_view name = "proportional";
  static constexpr auto fields() {
    return std::tuple{
        optional("partial_rotary_factor", &ProportionalSchedule::partial_rotary_factor, "",
                 "share of the pairs that turn"),
        optional("factor", &ProportionalSchedule::factor, "", "divisor of every frequency")};
  }
};

/// The one list of rules.
using FrequencySchedule =
    std::variant<DefaultSchedule, LinearSchedule, NtkSchedule, DynamicNtkSchedule,
                 DynamicNtkStepsSchedule, NtkByPartsSchedule, YarnSchedule, Llama3Schedule,
                 LongRopeSchedule, ProportionalSchedule>;
constexpr std::string_view tag_key(std::type_identity<FrequencySchedule>) { return "rope_type"; }

Status check(const DefaultSchedule&, const RotaryBand&);
Status check(const LinearSchedule&, const RotaryBand&);
Status check(const NtkSchedule&, const RotaryBand&);
Status check(const DynamicNtkSchedule&, const RotaryBand&);
Status check(const DynamicNtkStepsSchedule&, const RotaryBand&);
Status check(const NtkByPartsSchedule&, const RotaryBand&);
Status check(const YarnSchedule&, const RotaryBand&);
Status check(const Llama3Schedule&, const RotaryBand&);
Status check(const LongRopeSchedule&, const RotaryBand&);
Status check(const ProportionalSchedule&, const RotaryBand&);

Frequencies frequencies(const DefaultSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const LinearSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const NtkSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const DynamicNtkSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const DynamicNtkStepsSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const NtkByPartsSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const YarnSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const Llama3Schedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const LongRopeSchedule&, const RotaryBand&, int64_t context_length);
Frequencies frequencies(const ProportionalSchedule&, const RotaryBand&, int64_t context_length);

/// The rule's parameters and the band, checked. Errors name the member and its value.
Status check(const FrequencySchedule&, const RotaryBand&);

/// The rule's frequencies; call check() first.
Frequencies frequencies(const FrequencySchedule&, const RotaryBand&, int64_t context_length);

/// The length beyond which the rule's frequencies change with the length, if they ever do.
std::optional<int64_t> changes_beyond(const FrequencySchedule&);

}  // namespace hodometer
