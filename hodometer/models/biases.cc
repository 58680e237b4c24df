#include "hodometer/models/families-inl.h"

namespace hodometer {

Status read_alibi(const Part& part) {
  HODO_ASSIGN(const auto heads,
              part.config.require<int64_t>("num_attention_heads", "every head has a slope"));
  HODO_ASSIGN(const auto layers, part.config.find<int64_t>("num_hidden_layers"));
  HODO_ASSIGN(const auto trained, part.config.find<int64_t>("max_position_embeddings"));
  if (layers && part.prefix.empty()) part.model->num_layers = layers->value;
  PositionUse use;
  use.name = part.use_name("attention");
  Alibi alibi;
  alibi.num_heads = heads.value;
  use.spec.method = alibi;
  use.mask = part.family->mask;
  if (trained) use.trained_length = trained->value;
  use.settings.push_back(setting("num_heads", heads));
  use.settings.push_back({"alibi_bias_max", "8", Origin::architecture, part.fixed()});
  return add_use(part, std::move(use));
}

}  // namespace hodometer
