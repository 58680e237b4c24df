#include <algorithm>

#include "hodometer/models/families-inl.h"

namespace hodometer {
namespace {

constexpr PairLayout half = PairLayout::half_split;
constexpr PairLayout inter = PairLayout::interleaved;

std::vector<Family> make_table() {
  return {
      {.model_type = "llama", .read = read_decoder, .layout = half, .base = 1e4},
      {.model_type = "mistral",
       .read = read_decoder,
       .layout = half,
       .base = 1e4,
       .window = Window::from_file},
      {.model_type = "qwen2",
       .read = read_decoder,
       .layout = half,
       .base = 1e4,
       .layers = LayerRule::window_from_layer,
       .window = Window::from_file},
      {.model_type = "gpt2", .read = read_learned, .positions = 1024},
      {.model_type = "bloom", .read = read_alibi},
      {.model_type = "glm", .read = read_decoder, .layout = inter, .base = 1e4, .fraction = 0.5},
  };
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> table = make_table();
  return table;
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

}  // namespace hodometer
