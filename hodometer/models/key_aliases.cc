#include "hodometer/models/key_aliases.h"

#include <algorithm>
#include <array>

namespace hodometer {
namespace {

const std::vector<KeySpellings>& table() {
  static const std::vector<KeySpellings> rows = {
      {"hidden_size",
       {"hidden_size", "n_embd", "n_embed", "d_model", "dim", "emb_dim", "model_dim"},
       {"hidden_dim"},
       NullMeans::error},
      {"num_attention_heads",
       {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"},
       {"encoder_attention_heads"},
       NullMeans::error},
      {"num_hidden_layers",
       {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth"},
       {"encoder_layers", "num_transformer_layers"},
       NullMeans::error},
      {"head_dim", {"head_dim", "kv_channels", "attention_head_dim"}, {}},
      {"max_position_embeddings",
       {"max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length"},
       {"seq_length", "model_max_length", "max_context_length", "n_ctx"}},
      {"base",
       {"rope_theta", "rotary_emb_base", "rotary_base", "rope_base", "global_rope_theta",
        "rope_global_theta", "rope_theta_global"},
       {},
       NullMeans::error},
      {"local_base",
       {"rope_local_base_freq", "local_rope_theta", "rope_local_theta", "rope_theta_local",
        "swa_rope_theta"},
       {}},
      {"partial_rotary_factor",
       {"partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_percent", "rope_percent",
        "rotary_emb_fraction"},
       {}},
      {"rope_type", {"rope_type", "type"}, {}},
      {"sliding_window", {"sliding_window", "sliding_window_size"}, {"attention_window_size"}},
      {"block_types", {"block_types", "_block_types"}, {}},
      {"sliding_window_pattern", {"sliding_window_pattern", "_sliding_window_pattern"}, {}},
      {"mrope_section", {"mrope_section", "xdrope_section"}, {}},
  };
  return rows;
}

template <size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

}  // namespace

KeySpellings key_spellings(std::string_view name) {
  for (const KeySpellings& row : table()) {
    if (row.name == name) return row;
  }
  return {name, {name}, {}};
}

bool concerns_positions(std::string_view key) {
  static constexpr std::array<std::string_view, 20> parts = {
      "rope", "rotary",     "alibi",      "position",    "relative",        "sliding", "theta",
      "yarn", "mscale",     "attn_scale", "temperature", "floor_scale",     "logn",    "ntk",
      "xpos", "local_base", "chunk_size", "global_attn", "local_attention", "wpe"};
  // Sampling and loss settings, and things that are told apart by other keys.
  static constexpr std::array<std::string_view, 5> others = {
      "temperature", "chunk_size_feed_forward", "prefill_chunk_size", "router_temperature",
      "flash_rotary"};
  return contains_any(key, parts) && std::find(others.begin(), others.end(), key) == others.end();
}

bool is_rope_parameter(std::string_view key) {
  static constexpr std::array<std::string_view, 26> known = {"rope_type",
                                                             "type",
                                                             "rope_theta",
                                                             "partial_rotary_factor",
                                                             "factor",
                                                             "original_max_position_embeddings",
                                                             "beta_fast",
                                                             "beta_slow",
                                                             "attention_factor",
                                                             "mscale",
                                                             "mscale_all_dim",
                                                             "truncate",
                                                             "low_freq_factor",
                                                             "high_freq_factor",
                                                             "short_factor",
                                                             "long_factor",
                                                             "short_mscale",
                                                             "long_mscale",
                                                             "alpha",
                                                             "mixed_b",
                                                             "mrope_section",
                                                             "mrope_interleaved",
                                                             "finetuned",
                                                             "max_position_embeddings",
                                                             "extrapolation_factor",
                                                             "attn_factor"};
  return std::find(known.begin(), known.end(), key) != known.end();
}

}  // namespace hodometer
