#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/methods/action.h"

/// Rules that multiply the score, on top of 1/sqrt(head_dim). Any method may carry some.
namespace hodometer {

/// A number.
struct ConstantScale {
  double factor = 0;

  static constexpr std::string_view name = "constant";
  static constexpr auto fields() {
    return std::tuple{required("factor", &ConstantScale::factor, "", "multiplies every score")};
  }
};

/// (0.1 mscale_all_dim ln(factor) + 1)^2, the softmax factor of MLA models that use YaRN, besides
/// the magnitude of cos and sin. Source: DeepSeek-V2 modelling code.
struct YarnSoftmaxScale {
  double factor = 0;
  double mscale_all_dim = 0;

  static constexpr std::string_view name = "yarn_softmax";
  static constexpr auto fields() {
    return std::tuple{
        required("factor", &YarnSoftmaxScale::factor, "", "YaRN's factor"),
        required("mscale_all_dim", &YarnSoftmaxScale::mscale_all_dim, "", "weight of the rule")};
  }
};

/// 1 + beta ln(1 + floor((position + offset) / floor_scale)) per query. Sources: Llama 4 (offset
/// 1, on its layers without rotation), Ministral 3 and Mistral 4 (offset 0, on all layers).
struct TemperatureScale {
  double beta = 0;
  double floor_scale = 0;
  int64_t offset = 0;

  static constexpr std::string_view name = "temperature";
  static constexpr auto fields() {
    return std::tuple{
        required("beta", &TemperatureScale::beta, "", "attn_scale or llama_4_scaling_beta"),
        required("floor_scale", &TemperatureScale::floor_scale, "positions", "positions per step"),
        required("offset", &TemperatureScale::offset, "positions", "added to the position first")};
  }
};

/// max(1, ln(position + 1) / ln(trained)) per query. Source: Qwen 1's `use_logn_attn`.
struct LogNScale {
  int64_t original_max_position_embeddings = 0;

  static constexpr std::string_view name = "log_n";
  static constexpr auto fields() {
    return std::tuple{required("original_max_position_embeddings",
                               &LogNScale::original_max_position_embeddings, "positions",
                               "trained length")};
  }
};

using LogitScaleRule = std::variant<ConstantScale, YarnSoftmaxScale, TemperatureScale, LogNScale>;
constexpr std::string_view tag_key(std::type_identity<LogitScaleRule>) { return "rule"; }

Status check(const LogitScaleRule& rule);
LogitScale logit_scale(const LogitScaleRule& rule);

}  // namespace hodometer
