#include "hodometer/models/families-inl.h"
#include "hodometer/models/rotary_heads-inl.h"

namespace hodometer {
namespace {

/// "image_size": 224, or [448, 448].
Result<Sourced<int64_t>> read_side(const Part& part, std::string_view key) {
  const auto found = part.config.object().find(std::string(key));
  if (found == part.config.object().end() || !found->is_array()) {
    return part.config.require<int64_t>(key, "the table has a row per patch");
  }
  HODO_ASSIGN(const auto sides,
              part.config.require<std::vector<int64_t>>(key, "the table has a row per patch"));
  if (sides.value.size() != 2 || sides.value[0] != sides.value[1]) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}: expected a number or two equal ones", sides.source)};
  }
  return Sourced<int64_t>{sides.value[0], sides.origin, sides.source};
}

Result<Sourced<int64_t>> read_patches(const Part& part) {
  const ConfigReader& config = part.config;
  for (const std::string_view key : {"num_patches", "num_position_embeddings"}) {
    HODO_ASSIGN(const auto given, config.find<int64_t>(key));
    if (given) return *given;
  }
  if (part.family->positions > 0 && !config.has("image_size")) {
    return Sourced<int64_t>{part.family->positions, Origin::assumed, part.customary()};
  }
  HODO_ASSIGN(const auto image, read_side(part, "image_size"));
  HODO_ASSIGN(const auto patch, read_side(part, "patch_size"));
  if (patch.value < 1 || image.value < patch.value || image.value > 1000000) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} {} over {} {}: expected at least one patch", image.source,
                             image.value, patch.source, patch.value)};
  }
  const int64_t side = image.value / patch.value;
  return Sourced<int64_t>{side * side, Origin::file,
                          fmt::format("({} / {})^2", image.source, patch.source)};
}

}  // namespace

Status read_patch_table(const Part& part) {
  HODO_ASSIGN(const auto patches, read_patches(part));
  HODO_ASSIGN(const auto dim, part.config.require<int64_t>("hidden_size", "rows are that wide"));
  HODO_RETURN_IF_ERROR(read_layer_count(part, "num_hidden_layers"));
  const int64_t extra = part.family->vision_extra_rows;
  const Sourced<int64_t> rows{
      patches.value + extra, patches.origin,
      extra == 0 ? patches.source : fmt::format("{} + {}", patches.source, extra)};
  PositionUse use;
  use.name = part.use_name("attention");
  use.spec.method = Learned{rows.value, dim.value, 0};
  use.mask = MaskKind::bidirectional;
  use.trained_length = rows.value;
  use.settings = {setting("max_position_embeddings", rows),
                  setting("dim", dim),
                  {"grid", "rows of the table are patches of a grid, resized to the image",
                   Origin::architecture, part.fixed()}};
  return add_use(part, std::move(use));
}

Status read_axial(const Part& part) {
  const ConfigReader& config = part.config;
  const Family& family = *part.family;
  HODO_ASSIGN(auto head_dim, config.find<int64_t>("head_dim"));
  if (!head_dim) {
    // Qwen2-VL writes the width as embed_dim, and the width of its output as hidden_size.
    HODO_ASSIGN(auto width, config.find<int64_t>("embed_dim"));
    if (!width) {
      HODO_ASSIGN(
          width, config.require<int64_t>("hidden_size", "the width of a head is computed from it"));
    } else {
      config.mark_read("hidden_size");
    }
    HODO_ASSIGN(
        const auto heads,
        config.require<int64_t>("num_attention_heads", "the width of a head is computed from it"));
    HODO_ASSIGN(head_dim, head_dim_of(config, *width, heads));
  }
  Sourced<double> base{family.base, Origin::architecture, part.fixed()};
  HODO_ASSIGN(const auto outer, config.find<double>("base"));
  if (outer) base = *outer;
  HODO_ASSIGN(const auto block, config.section("rope_parameters"));
  if (block) {
    HODO_ASSIGN(const auto inner, block->find<double>("base"));
    HODO_ASSIGN(const auto type, block->find<std::string>("rope_type"));
    if (type && type->value != "default" && type->value != "axial") {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} is \"{}\": expected \"default\" or \"axial\" for a vision tower",
                               type->source, type->value)};
    }
    if (inner && outer && inner->value != outer->value) {
      return Error{ErrorKind::bad_input,
                   fmt::format("{} is {} and {} is {}: both are the base, so they must agree",
                               inner->source, inner->value, outer->source, outer->value)};
    }
    if (inner) base = *inner;
  }
  HODO_ASSIGN(const auto layers, read_layer_count(part, "num_hidden_layers"));
  for (const std::string_view key : {"num_position_embeddings", "position_embedding_size",
                                     "max_position_embeddings", "global_head_dim"}) {
    config.mark_read(key);
  }
  PositionUse use;
  use.name = part.use_name("attention");
  use.spec.method = AxialRotary{head_dim->value, *family.layout, base.value, *family.axes};
  use.mask = MaskKind::bidirectional;
  use.layout_reason = part.fixed();
  use.settings = {setting("head_dim", *head_dim),
                  setting("base", base),
                  {"axis_layout", write_json(*family.axes).get<std::string>(), Origin::architecture,
                   part.fixed()}};
  use_all_layers(layers, use);
  if (!family.note.empty()) {
    use.settings.push_back({"note", std::string(family.note), Origin::architecture, part.fixed()});
  }
  return add_use(part, std::move(use));
}

}  // namespace hodometer
