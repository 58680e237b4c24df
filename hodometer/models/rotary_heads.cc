#include "hodometer/models/rotary_heads-inl.h"

#include <algorithm>

namespace hodometer {

Result<Sourced<int64_t>> read_head_dim(const Part& part) {
  const ConfigReader& config = part.config;
  HODO_ASSIGN(auto given, config.find<int64_t>("head_dim"));
  if (given) return *std::move(given);
  if (part.family->head_dim > 0) {
    return Sourced<int64_t>{part.family->head_dim, Origin::assumed, part.customary()};
  }
  HODO_ASSIGN(const auto hidden,
              config.require<int64_t>("hidden_size", "the width of a head is computed from it"));
  HODO_ASSIGN(const auto heads, config.require<int64_t>("num_attention_heads",
                                                        "the width of a head is computed from it"));
  return head_dim_of(config, hidden, heads);
}

Result<Sourced<int64_t>> head_dim_of(const ConfigReader& config, const Sourced<int64_t>& width,
                                     const Sourced<int64_t>& heads) {
  if (heads.value < 1 || width.value < heads.value) {
    return Error{ErrorKind::bad_input,
                 fmt::format("{} {} over {} {}: expected at least one lane per head", width.source,
                             width.value, heads.source, heads.value)};
  }
  if (width.value % heads.value != 0) {
    config.warn(fmt::format("{} {} is no multiple of {} {}: rounded down, as in Hugging Face",
                            width.source, width.value, heads.source, heads.value));
  }
  return Sourced<int64_t>{width.value / heads.value, width.origin,
                          fmt::format("{} / {}", width.source, heads.source)};
}

Result<Sourced<double>> read_fraction(const Part& part, const std::optional<ConfigReader>& block) {
  std::optional<Sourced<double>> inner;
  if (block) {
    HODO_ASSIGN(inner, block->find<double>("partial_rotary_factor"));
  }
  HODO_ASSIGN(auto top, part.config.find<double>("partial_rotary_factor"));
  if (inner && top && inner->value != top->value) {
    part.config.warn(fmt::format("{} is {} and {} is {}: the first counts, as in Hugging Face",
                                 inner->source, inner->value, top->source, top->value));
  }
  Sourced<double> fraction{part.family->fraction,
                           part.family->fraction == 1 ? Origin::architecture : Origin::assumed,
                           part.family->fraction == 1 ? part.fixed() : part.customary()};
  if (top) fraction = *top;
  if (inner) fraction = *inner;
  if (fraction.value >= 0 && fraction.value <= 1) return fraction;
  return Error{ErrorKind::bad_input,
               fmt::format("{} is {}: expected 0 to 1", fraction.source, fraction.value)};
}

Result<Sourced<int64_t>> read_rotary_dim(const Part& part, const Sourced<int64_t>& head_dim,
                                         const Sourced<double>& fraction, FractionKey key) {
  const Family& family = *part.family;
  HODO_ASSIGN(auto given, part.config.find<int64_t>("rotary_dim"));
  const auto computed = static_cast<int64_t>(static_cast<double>(head_dim.value) * fraction.value);
  const bool reads = key == FractionKey::read || family.fraction != 1 || family.rotary_dim > 0;
  const auto& part_key = given ? given->source : fraction.source;
  const int64_t width = given ? given->value : computed;
  if (!reads && (given || fraction.origin == Origin::file) && width != head_dim.value) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} makes {} of {} lanes turn, but the published code of {} does not "
                             "read it and turns them all; other engines turn the part: remove the "
                             "key, or give the method as a spec",
                             part_key, width, head_dim.value, family.model_type)};
  }
  if (given) {
    if (fraction.origin == Origin::file && given->value != computed) {
      return Error{
          ErrorKind::bad_input,
          fmt::format("{} is {}, but head_dim {} times {} {} is {}: they must agree", given->source,
                      given->value, head_dim.value, fraction.source, fraction.value, computed)};
    }
    return *std::move(given);
  }
  // GPT-J: without the key 64 lanes, with a null all of them.
  if (family.rotary_dim > 0 && fraction.origin != Origin::file) {
    if (part.config.is_null("rotary_dim")) {
      return Sourced<int64_t>{head_dim.value, Origin::file,
                              part.config.at("rotary_dim") + " is null"};
    }
    return Sourced<int64_t>{std::min(family.rotary_dim, head_dim.value), Origin::assumed,
                            part.customary()};
  }
  if (fraction.value == 1) return Sourced<int64_t>{computed, fraction.origin, fraction.source};
  return Sourced<int64_t>{
      computed, fraction.origin,
      fmt::format("int(head_dim {} * {}), {}", head_dim.value, fraction.value, fraction.source)};
}

Result<Sourced<double>> read_base(const Part& part, const std::optional<ConfigReader>& block,
                                  std::string_view name, double customary) {
  std::optional<Sourced<double>> inner;
  if (block) {
    HODO_ASSIGN(inner, block->find<double>("base"));
  }
  HODO_ASSIGN(auto outer, part.config.find<double>(name));
  if (!outer) {
    // DBRX keeps its base in a block about attention.
    HODO_ASSIGN(const auto attention, part.config.section("attn_config"));
    if (attention) {
      HODO_ASSIGN(outer, attention->find<double>(name));
    }
  }
  if (inner && outer && inner->value != outer->value) {
    const std::string both = fmt::format("{} is {} and {} is {}", inner->source, inner->value,
                                         outer->source, outer->value);
    const bool one_block = block->path() == part.config.at("rope_parameters") ||
                           block->path() == part.config.at("rope_scaling");
    if (one_block) {
      return Error{ErrorKind::bad_input, both + ": both are the base, so they must agree"};
    }
    part.config.warn(both + ": the first counts, as in Hugging Face");
  }
  if (inner) return *inner;
  if (outer) return *outer;
  if (customary > 0) {
    const bool fixed = part.family->base_origin == Origin::architecture;
    return Sourced<double>{customary, part.family->base_origin,
                           fixed ? part.fixed() : part.customary()};
  }
  return part.config.require<double>(
      name, fmt::format("{} has no customary base", part.family->model_type));
}

}  // namespace hodometer
