#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

constexpr std::string_view table_why = "the learned table has that many rows";

Result<Sourced<int64_t>> read_positions(const Part& part, std::string_view key) {
  HODO_ASSIGN(auto found, find_length(part.config, key));
  if (found) return *std::move(found);
  if (part.family->positions > 0) {
    return Sourced<int64_t>{part.family->positions, Origin::assumed, part.customary()};
  }
  return part.config.require<int64_t>(key, table_why);
}

Status note_layer_count(const Part& part) {
  HODO_RETURN_IF_ERROR(read_layer_count(part, "num_hidden_layers"));
  return {};
}

PositionUse learned_use(const Part& part, std::string_view name, const Sourced<int64_t>& usable,
                        const Sourced<int64_t>& dim, const Sourced<int64_t>& offset) {
  PositionUse use;
  use.name = part.use_name(name);
  use.spec.method = Learned{usable.value, dim.value, offset.value};
  use.mask = part.family->mask;
  use.trained_length = usable.value;
  use.longest_input = usable.value;
  use.settings.push_back(setting("max_position_embeddings", usable));
  use.settings.push_back(setting("dim", dim));
  if (offset.value != 0) use.settings.push_back(setting("offset", offset));
  return use;
}

/// Sines and cosines have a row for every position; `rows` is a limit that the file states.
PositionUse sinusoidal_use(const Part& part, std::string_view name, const Sourced<int64_t>& dim,
                           const std::optional<Sourced<int64_t>>& rows) {
  const Family& family = *part.family;
  Sinusoidal table;
  table.dim = dim.value;
  table.layout = *family.sinusoid;
  table.offset = family.offset;
  if (family.offset > 0) table.padding_idx = family.offset - 1;
  PositionUse use;
  use.name = part.use_name(name);
  use.spec.method = table;
  use.mask = family.mask;
  use.settings = {
      setting("dim", dim),
      {"layout", write_json(table.layout).get<std::string>(), Origin::architecture, part.fixed()}};
  if (family.offset > 0) {
    use.settings.push_back(
        {"offset", fmt::format("{}", family.offset), Origin::architecture, part.fixed()});
  }
  if (rows) {
    use.settings.push_back(setting("max_position_embeddings", *rows));
    use.trained_length = rows->value;
    use.longest_input = rows->value;
  }
  return use;
}

/// Tables after fairseq, which have an offset, grow when a longer text comes; others have the rows
/// that the file says.
Result<std::optional<Sourced<int64_t>>> rows_of_table(const Part& part) {
  HODO_ASSIGN(auto rows, find_length(part.config, "max_position_embeddings"));
  if (part.family->offset > 0) rows.reset();
  return rows;
}

struct Stack {
  std::string_view name;
  std::string_view own_key;
  MaskKind mask;
};

}  // namespace

Status read_learned(const Part& part) {
  HODO_ASSIGN(const auto type, part.config.find<std::string>("position_embedding_type"));
  if (type && type->value != "absolute") {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} is \"{}\": expected \"absolute\"; other types multiply learned "
                             "vectors into the scores of this family in ways not covered",
                             type->source, type->value)};
  }
  HODO_ASSIGN(const auto usable, read_positions(part, "max_position_embeddings"));
  HODO_ASSIGN(const auto dim, part.config.require<int64_t>("hidden_size", "rows are that wide"));
  HODO_RETURN_IF_ERROR(note_layer_count(part));
  const Sourced<int64_t> offset{part.family->offset, Origin::architecture, part.fixed()};
  return add_use(part, learned_use(part, "embedding", usable, dim, offset));
}

Status read_learned_after_padding(const Part& part) {
  HODO_ASSIGN(const auto type, part.config.find<std::string>("position_embedding_type"));
  if (type && type->value != "absolute") {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} is \"{}\": expected \"absolute\"", type->source, type->value)};
  }
  HODO_ASSIGN(const auto rows, read_positions(part, "max_position_embeddings"));
  HODO_ASSIGN(const auto dim, part.config.require<int64_t>("hidden_size", "rows are that wide"));
  HODO_RETURN_IF_ERROR(note_layer_count(part));
  HODO_ASSIGN(auto padding, part.config.find_or<int64_t>("pad_token_id", 1, part.customary()));
  if (padding.value < 0 || padding.value >= rows.value - 1) {
    return Error{
        ErrorKind::bad_input,
        fmt::format("{} is {}: positions start one row after it, and the table has {} rows",
                    padding.source, padding.value, rows.value)};
  }
  const Sourced<int64_t> offset{padding.value + 1, padding.origin,
                                fmt::format("{} + 1", padding.source)};
  const Sourced<int64_t> usable{
      rows.value - offset.value, rows.origin,
      fmt::format("{} {} less {} rows that no token uses", rows.source, rows.value, offset.value)};
  return add_use(part, learned_use(part, "embedding", usable, dim, offset));
}

Status read_sinusoidal(const Part& part) {
  HODO_ASSIGN(const auto dim, part.config.require<int64_t>("hidden_size", "rows are that wide"));
  HODO_RETURN_IF_ERROR(note_layer_count(part));
  HODO_ASSIGN(const auto rows, rows_of_table(part));
  return add_use(part, sinusoidal_use(part, "embedding", dim, rows));
}

Status read_encoder_decoder(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto dim, config.require<int64_t>("hidden_size", "rows are that wide"));
  HODO_RETURN_IF_ERROR(note_layer_count(part));
  for (const auto& [stack, own_key, mask] :
       {Stack{"encoder", "max_encoder_position_embeddings", MaskKind::bidirectional},
        Stack{"decoder", "max_decoder_position_embeddings", MaskKind::causal}}) {
    PositionUse use;
    if (part.family->sinusoid) {
      HODO_ASSIGN(const auto rows, rows_of_table(part));
      use = sinusoidal_use(part, stack, dim, rows);
    } else {
      const bool own = config.has(own_key);
      HODO_ASSIGN(const auto rows, read_positions(part, own ? own_key : "max_position_embeddings"));
      use = learned_use(part, stack, rows, dim,
                        {part.family->offset, Origin::architecture, part.fixed()});
    }
    use.mask = mask;
    HODO_RETURN_IF_ERROR(add_use(part, std::move(use)));
  }
  return {};
}

Status read_whisper(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(const auto dim, config.require<int64_t>("hidden_size", "rows are that wide"));
  HODO_RETURN_IF_ERROR(find_length(config, "max_source_positions"));
  HODO_RETURN_IF_ERROR(find_length(config, "max_target_positions"));
  HODO_ASSIGN(const auto source,
              config.find_or<int64_t>("max_source_positions", 1500, part.customary()));
  HODO_ASSIGN(const auto target,
              config.find_or<int64_t>("max_target_positions", 448, part.customary()));
  HODO_RETURN_IF_ERROR(note_layer_count(part));
  PositionUse encoder = sinusoidal_use(part, "encoder", dim, source);
  encoder.mask = MaskKind::bidirectional;
  HODO_RETURN_IF_ERROR(add_use(part, std::move(encoder)));
  PositionUse decoder =
      learned_use(part, "decoder", target, dim, {0, Origin::architecture, part.fixed()});
  decoder.mask = MaskKind::causal;
  return add_use(part, std::move(decoder));
}

Status read_nope(const Part& part) {
  HODO_RETURN_IF_ERROR(note_layer_count(part));
  PositionUse use;
  use.name = part.use_name("attention");
  use.spec.method = Nope{};
  use.mask = part.family->mask;
  use.settings.push_back({"method", "nope", Origin::architecture, part.fixed()});
  return add_use(part, std::move(use));
}

Status refuse(const Part& part) {
  return Error{ErrorKind::unsupported,
               fmt::format("{} {} is known and not covered: {}", part.config.at("model_type"),
                           part.family->model_type, part.family->note)};
}

}  // namespace hodometer
