#include <bit>
#include <cmath>

#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

/// The nearest bfloat16, ties to even.
double round_to_bfloat16(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  return std::bit_cast<float>(rounded);
}

Status add_alibi(const Part& part, Alibi alibi, std::vector<Setting> settings) {
  HODO_ASSIGN(const auto layers, read_layer_count(part, "num_hidden_layers"));
  HODO_ASSIGN(const auto trained, find_length(part.config, "max_position_embeddings"));
  PositionUse use;
  use.name = part.use_name("attention");
  use.spec.method = std::move(alibi);
  use.mask = part.family->mask;
  if (trained) use.trained_length = trained->value;
  use.settings = std::move(settings);
  use_all_layers(layers, use);
  return add_use(part, std::move(use));
}

Result<Sourced<int64_t>> read_heads(const Part& part) {
  return part.config.require<int64_t>("num_attention_heads", "every head has a slope");
}

/// One stack of a T5-like model.
struct Stack {
  std::string_view name;
  MaskKind mask;
  std::optional<Sourced<int64_t>> layers;
};

PositionUse t5_use(const Part& part, const Stack& stack, T5Bias bias,
                   std::vector<Setting> settings) {
  PositionUse use;
  use.name = part.use_name(stack.name);
  use.mask = stack.mask;
  bias.bidirectional = stack.mask == MaskKind::bidirectional;
  use.spec.method = bias;
  use.settings = std::move(settings);
  use_all_layers(stack.layers, use);
  use.settings.push_back(
      {"bidirectional", bias.bidirectional ? "true" : "false", Origin::architecture, part.fixed()});
  return use;
}

}  // namespace

Status read_alibi(const Part& part) {
  HODO_ASSIGN(const auto heads, read_heads(part));
  Alibi alibi;
  alibi.num_heads = heads.value;
  return add_alibi(
      part, alibi,
      {setting("num_heads", heads), {"alibi_bias_max", "8", Origin::architecture, part.fixed()}});
}

Status read_jais(const Part& part) {
  HODO_ASSIGN(const auto type, part.config.find<std::string>("position_embedding_type"));
  if (!type || type->value == "alibi") return read_alibi(part);
  return Error{ErrorKind::unsupported,
               fmt::format("{} is \"{}\": only \"alibi\" is covered", type->source, type->value)};
}

Status read_falcon(const Part& part) {
  HODO_ASSIGN(const auto alibi, part.config.find_or<bool>("alibi", false, part.customary()));
  if (!alibi.value) return read_decoder(part);
  HODO_ASSIGN(const auto heads, read_heads(part));
  HODO_ASSIGN(const auto hidden, part.config.require<int64_t>(
                                     "hidden_size", "the slopes are divided by sqrt(head_dim)"));
  if (heads.value < 1 || heads.value > max_head_dim || hidden.value < heads.value) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} {} over {} {}: expected at least one lane per head", hidden.source,
                             hidden.value, heads.source, heads.value)};
  }
  // Its code rounds the slopes to bfloat16 and adds the bias before it divides the score.
  const double root = std::sqrt(static_cast<double>(hidden.value / heads.value));
  std::vector<double> slopes = alibi_slopes(heads.value, 8, SlopeSeries::two_series);
  for (double& slope : slopes) slope = round_to_bfloat16(slope) / root;
  Alibi method;
  method.slopes = std::move(slopes);
  return add_alibi(part, std::move(method),
                   {setting("alibi", alibi),
                    setting("num_heads", heads),
                    {"slopes", "rounded to bfloat16, divided by sqrt(head_dim)",
                     Origin::architecture, part.fixed()}});
}

Status read_mpt(const Part& part) {
  HODO_ASSIGN(const auto attention, part.config.section("attn_config"));
  Sourced<bool> on{true, Origin::assumed, part.customary()};
  Sourced<double> bias_max{8, Origin::assumed, part.customary()};
  if (attention) {
    HODO_ASSIGN(const auto rope, attention->find<bool>("rope"));
    if (rope && rope->value) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} is true: the published code of mpt has no rotation; its pairing "
                               "depends on rope_impl of the training code; give the method as a "
                               "spec",
                               rope->source)};
    }
    HODO_ASSIGN(on, attention->find_or<bool>("alibi", true, part.customary()));
    HODO_ASSIGN(bias_max, attention->find_or<double>("alibi_bias_max", 8.0, part.customary()));
  }
  if (!on.value) {
    HODO_ASSIGN(const auto learned, part.config.find<bool>("learned_pos_emb"));
    return learned && !learned->value ? read_nope(part) : read_learned(part);
  }
  // The learned table is not made when the bias is on.
  part.config.mark_read("learned_pos_emb");
  HODO_ASSIGN(const auto heads, read_heads(part));
  Alibi alibi;
  alibi.num_heads = heads.value;
  alibi.alibi_bias_max = bias_max.value;
  return add_alibi(
      part, alibi,
      {setting("alibi", on), setting("num_heads", heads), setting("alibi_bias_max", bias_max)});
}

Status read_baichuan(const Part& part) {
  // One model_type, two models: 7B rotates and 13B has ALiBi, and no key says which.
  HODO_ASSIGN(const auto hidden,
              part.config.require<int64_t>("hidden_size",
                                           "the width tells Baichuan 7B (4096, rotary) from 13B "
                                           "(5120, ALiBi); no key does"));
  if (hidden.value == 4096) return read_decoder(part);
  if (hidden.value == 5120) return read_alibi(part);
  return Error{ErrorKind::unsupported,
               fmt::format("{} is {}: Baichuan rotates at 4096 and has ALiBi at 5120, and no key "
                           "tells which; give the method as a spec",
                           hidden.source, hidden.value)};
}

Status read_t5(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto heads,
              config.require<int64_t>("num_attention_heads", "every head has its own values"));
  HODO_ASSIGN(const auto buckets,
              config.find_or<int64_t>("relative_attention_num_buckets", 32, part.customary()));
  HODO_ASSIGN(const auto distance,
              config.find_or<int64_t>("relative_attention_max_distance", 128, part.customary()));
  HODO_ASSIGN(const auto encoder, read_layer_count(part, "num_layers"));
  HODO_ASSIGN(auto decoder, read_layer_count(part, "num_decoder_layers"));
  if (!decoder) decoder = encoder;
  const T5Bias bias{heads.value, buckets.value, distance.value, false};
  const std::vector<Setting> settings = {
      setting("num_heads", heads),
      setting("relative_attention_num_buckets", buckets),
      setting("relative_attention_max_distance", distance),
      {"score", "not divided by sqrt(d_kv)", Origin::architecture, part.fixed()},
      {"table",
       part.family->model_type == "umt5" ? "one per layer" : "of the first layer, used by all",
       Origin::architecture, part.fixed()}};
  HODO_RETURN_IF_ERROR(
      add_use(part, t5_use(part, {"encoder", MaskKind::bidirectional, encoder}, bias, settings)));
  const Stack stack{"decoder", MaskKind::causal, decoder};
  HODO_RETURN_IF_ERROR(add_use(part, t5_use(part, stack, bias, settings)));
  PositionUse cross = t5_use(part, stack, bias, {});
  cross.name = part.use_name("cross_attention");
  cross.spec.method = Nope{};
  cross.mask = MaskKind::bidirectional;
  cross.settings.assign({{"method", "nope", Origin::architecture, part.fixed()}});
  return add_use(part, std::move(cross));
}

Status read_mpnet(const Part& part) {
  HODO_RETURN_IF_ERROR(read_learned_after_padding(part));
  HODO_ASSIGN(const auto heads,
              part.config.require<int64_t>("num_attention_heads", "every head has its own values"));
  HODO_ASSIGN(const auto buckets,
              part.config.find_or<int64_t>("relative_attention_num_buckets", 32, part.customary()));
  PositionUse use;
  use.name = part.use_name("attention");
  use.mask = MaskKind::bidirectional;
  use.spec.method = T5Bias{heads.value, buckets.value, 128, true};
  use.settings = {setting("num_heads", heads),
                  setting("relative_attention_num_buckets", buckets),
                  {"relative_attention_max_distance", "128", Origin::architecture, part.fixed()}};
  return add_use(part, std::move(use));
}

Status read_shaw(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto type, config.find_or<std::string>("position_embeddings_type",
                                                           "relative_key", part.customary()));
  if (type.value != "relative_key") {
    return Error{
        ErrorKind::unsupported,
        fmt::format("{} is \"{}\": only \"relative_key\" is covered", type.source, type.value)};
  }
  HODO_ASSIGN(const auto left,
              config.find_or<int64_t>("left_max_position_embeddings", 64, part.customary()));
  HODO_ASSIGN(const auto right,
              config.find_or<int64_t>("right_max_position_embeddings", 8, part.customary()));
  HODO_ASSIGN(const auto layers, read_layer_count(part, "num_hidden_layers"));
  Shaw shaw;
  shaw.left_max_position_embeddings = left.value;
  shaw.right_max_position_embeddings = right.value;
  PositionUse use;
  use.name = part.use_name("attention");
  use.mask = MaskKind::bidirectional;
  use.spec.method = shaw;
  use.settings = {setting("position_embeddings_type", type),
                  setting("left_max_position_embeddings", left),
                  setting("right_max_position_embeddings", right)};
  use_all_layers(layers, use);
  return add_use(part, std::move(use));
}

}  // namespace hodometer
