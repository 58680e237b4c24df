#include "hodometer/models/families-inl.h"
#include "hodometer/models/layer_kinds-inl.h"
#include "hodometer/models/rotary_heads-inl.h"
#include "hodometer/models/rotary_use-inl.h"

// Families whose keys no other family has.

namespace hodometer {
Status read_qwen1(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto head_dim, read_head_dim(part));
  HODO_ASSIGN(const auto base, read_base(part, std::nullopt, "base", part.family->base));
  HODO_ASSIGN(const auto trained, config.find_or<int64_t>("seq_length", 8192, part.customary()));
  HODO_ASSIGN(const auto dynamic, config.find_or<bool>("use_dynamic_ntk", true, part.customary()));
  HODO_ASSIGN(const auto logn, config.find_or<bool>("use_logn_attn", true, part.customary()));
  HODO_ASSIGN(const auto layers, read_layer_count(part, "num_hidden_layers"));
  PositionUse use;
  use.name = part.use_name("attention");
  use_all_layers(layers, use);
  HODO_ASSIGN(ReadRotary rotary, read_rotary(part, std::nullopt, base,
                                             {head_dim, std::nullopt, 0, *part.family->layout}));
  if (dynamic.value) {
    rotary.rotary.schedule = DynamicNtkStepsSchedule{trained.value};
    rotary.settings.push_back(setting("use_dynamic_ntk", dynamic));
    rotary.settings.push_back(setting("schedule.original_max_position_embeddings", trained));
  }
  rotary.trained_length = trained.value;
  HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
  if (logn.value) {
    use.spec.logit_scale.push_back(LogNScale{trained.value});
    use.settings.push_back(setting("use_logn_attn", logn));
  }
  return add_use(part, std::move(use));
}

Status read_chatglm(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto two_axes, config.find<bool>("position_encoding_2d"));
  if (two_axes && two_axes->value) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} is true: the first ChatGLM's block positions are not covered",
                             two_axes->source)};
  }
  HODO_ASSIGN(const auto original, config.find<bool>("original_rope"));
  if (original && !original->value) {
    return Error{
        ErrorKind::unsupported,
        fmt::format("{} is false: only the original rotation is covered", original->source)};
  }
  HODO_ASSIGN(const auto head_dim, read_head_dim(part));
  HODO_ASSIGN(const auto ratio, config.find_or<double>("rope_ratio", 1.0, part.customary()));
  HODO_ASSIGN(const auto layers, read_layer_count(part, "num_hidden_layers"));
  const Sourced<double> base{10000 * ratio.value, ratio.origin,
                             fmt::format("10000 * rope_ratio {}, {}", ratio.value, ratio.source)};
  const Sourced<int64_t> rotary_dim{head_dim.value / 2, Origin::architecture, part.fixed()};
  PositionUse use;
  use.name = part.use_name("attention");
  use_all_layers(layers, use);
  HODO_ASSIGN(ReadRotary rotary, read_rotary(part, std::nullopt, base,
                                             {head_dim, rotary_dim, 0, *part.family->layout}));
  HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
  return add_use(part, std::move(use));
}

Status read_moonshine(const Part& part) {
  const ConfigReader& config = part.config;
  const auto hidden_why = "the width of a head is computed from it";
  HODO_ASSIGN(const auto hidden, config.require<int64_t>("hidden_size", hidden_why));
  HODO_ASSIGN(const RopeBlock blocks, read_rope_block(part, {}));
  HODO_ASSIGN(const auto base, read_base(part, blocks.flat, "base", part.family->base));
  for (const auto& [stack, mask] :
       {std::pair{"encoder", MaskKind::bidirectional}, std::pair{"decoder", MaskKind::causal}}) {
    HODO_ASSIGN(
        const auto heads,
        config.find_or<int64_t>(fmt::format("{}_num_attention_heads", stack), 8, part.customary()));
    HODO_ASSIGN(const auto layers,
                read_layer_count(part, fmt::format("{}_num_hidden_layers", stack)));
    HODO_ASSIGN(const auto head_dim, head_dim_of(config, hidden, heads));
    PositionUse use;
    use.name = part.use_name(stack);
    use.mask = mask;
    use_all_layers(layers, use);
    HODO_ASSIGN(ReadRotary rotary, read_rotary(part, blocks.flat, base,
                                               {head_dim, std::nullopt, 0, *part.family->layout}));
    HODO_RETURN_IF_ERROR(set_rotary(part, std::move(rotary), use));
    HODO_RETURN_IF_ERROR(add_use(part, std::move(use)));
  }
  PositionUse cross;
  cross.name = part.use_name("cross_attention");
  cross.mask = MaskKind::bidirectional;
  cross.settings = {{"method", "nope", Origin::architecture, part.fixed()}};
  return add_use(part, std::move(cross));
}

Status read_esm(const Part& part) {
  HODO_ASSIGN(const auto type, part.config.find_or<std::string>("position_embedding_type",
                                                                "absolute", part.customary()));
  if (type.value == "rotary") {
    part.config.mark_read("max_position_embeddings");
    return read_decoder(part);
  }
  return read_learned_after_padding(part);
}

}  // namespace hodometer
