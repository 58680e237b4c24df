#include "hodometer/formats/tensor_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hodometer {
namespace {

struct Row {
  TensorType type;
  TensorLayout layout;
  std::optional<uint32_t> ggml;  ///< ggml_type of ggml.h
  bool safetensors = false;      ///< whether a safetensors file may hold it, by that name
};

constexpr std::nullopt_t none = std::nullopt;

constexpr std::array table = {
    Row{TensorType::f64, {"F64", 1, 8}, 28, true},
    Row{TensorType::f32, {"F32", 1, 4}, 0, true},
    Row{TensorType::f16, {"F16", 1, 2}, 1, true},
    Row{TensorType::bf16, {"BF16", 1, 2}, 30, true},
    Row{TensorType::f8_e5m2, {"F8_E5M2", 1, 1}, none, true},
    Row{TensorType::f8_e4m3, {"F8_E4M3", 1, 1}, none, true},
    Row{TensorType::f8_e5m2fnuz, {"F8_E5M2FNUZ", 1, 1}, none, true},
    Row{TensorType::f8_e4m3fnuz, {"F8_E4M3FNUZ", 1, 1}, none, true},
    Row{TensorType::f8_e8m0, {"F8_E8M0", 1, 1}, none, true},
    Row{TensorType::f6_e2m3, {"F6_E2M3", 4, 3}, none, true},
    Row{TensorType::f6_e3m2, {"F6_E3M2", 4, 3}, none, true},
    Row{TensorType::f4, {"F4", 2, 1}, none, true},
    Row{TensorType::c64, {"C64", 1, 8}, none, true},
    Row{TensorType::i64, {"I64", 1, 8}, 27, true},
    Row{TensorType::i32, {"I32", 1, 4}, 26, true},
    Row{TensorType::i16, {"I16", 1, 2}, 25, true},
    Row{TensorType::i8, {"I8", 1, 1}, 24, true},
    Row{TensorType::u64, {"U64", 1, 8}, none, true},
    Row{TensorType::u32, {"U32", 1, 4}, none, true},
    Row{TensorType::u16, {"U16", 1, 2}, none, true},
    Row{TensorType::u8, {"U8", 1, 1}, none, true},
    Row{TensorType::boolean, {"BOOL", 1, 1}, none, true},
    Row{TensorType::q4_0, {"Q4_0", 32, 18}, 2},
    Row{TensorType::q4_1, {"Q4_1", 32, 20}, 3},
    Row{TensorType::q5_0, {"Q5_0", 32, 22}, 6},
    Row{TensorType::q5_1, {"Q5_1", 32, 24}, 7},
    Row{TensorType::q8_0, {"Q8_0", 32, 34}, 8},
    Row{TensorType::q1_0, {"Q1_0", 128, 18}, 41},
    Row{TensorType::q2_k, {"Q2_K", 256, 84}, 10},
    Row{TensorType::q3_k, {"Q3_K", 256, 110}, 11},
    Row{TensorType::q4_k, {"Q4_K", 256, 144}, 12},
    Row{TensorType::q5_k, {"Q5_K", 256, 176}, 13},
    Row{TensorType::q6_k, {"Q6_K", 256, 210}, 14},
    Row{TensorType::q8_k, {"Q8_K", 256, 292}, 15},
    Row{TensorType::iq1_s, {"IQ1_S", 256, 50}, 19},
    Row{TensorType::iq1_m, {"IQ1_M", 256, 56}, 29},
    Row{TensorType::iq2_xxs, {"IQ2_XXS", 256, 66}, 16},
    Row{TensorType::iq2_xs, {"IQ2_XS", 256, 74}, 17},
    Row{TensorType::iq2_s, {"IQ2_S", 256, 82}, 22},
    Row{TensorType::iq3_xxs, {"IQ3_XXS", 256, 98}, 18},
    Row{TensorType::iq3_s, {"IQ3_S", 256, 110}, 21},
    Row{TensorType::iq4_nl, {"IQ4_NL", 32, 18}, 20},
    Row{TensorType::iq4_xs, {"IQ4_XS", 256, 136}, 23},
    Row{TensorType::tq1_0, {"TQ1_0", 256, 54}, 34},
    Row{TensorType::tq2_0, {"TQ2_0", 256, 66}, 35},
    Row{TensorType::mxfp4, {"MXFP4", 32, 17}, 39},
    Row{TensorType::nvfp4, {"NVFP4", 64, 36}, 40},
};

constexpr bool in_order_of_the_enum() {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].type != static_cast<TensorType>(i)) return false;
  }
  return table.back().type == TensorType::nvfp4;
}
static_assert(in_order_of_the_enum());

template <class Matches>
std::optional<TensorType> first_where(Matches matches) {
  const auto row = std::find_if(table.begin(), table.end(), matches);
  if (row == table.end()) return std::nullopt;
  return row->type;
}

}  // namespace

TensorLayout tensor_layout(TensorType type) { return table[static_cast<size_t>(type)].layout; }

std::optional<TensorType> tensor_type_from_ggml(uint32_t id) {
  return first_where([&](const Row& row) { return row.ggml == id; });
}

std::optional<TensorType> tensor_type_from_safetensors(std::string_view dtype) {
  return first_where([&](const Row& row) { return row.safetensors && row.layout.name == dtype; });
}

Result<uint64_t> tensor_bytes(TensorType type, std::span<const int64_t> shape) {
  const TensorLayout layout = tensor_layout(type);
  for (const int64_t extent : shape) {
    if (extent < 0) return Error{ErrorKind::bad_input, fmt::format("an extent is {}", extent)};
  }
  if (std::count(shape.begin(), shape.end(), 0) > 0) return uint64_t{0};
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) {
      return Error{ErrorKind::bad_input, "more than 2^63 elements"};
    }
  }
  // Packed types of GGUF hold whole blocks in every row, those of safetensors in the whole tensor.
  const bool row_wise = table[static_cast<size_t>(type)].ggml.has_value();
  const int64_t whole = row_wise ? (shape.empty() ? 1 : shape.back()) : elements;
  if (whole % layout.block_elements != 0) {
    return Error{ErrorKind::bad_input, fmt::format("{} elements of {}: expected a multiple of {}",
                                                   whole, layout.name, layout.block_elements)};
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements / layout.block_elements, layout.block_bytes, &bytes)) {
    return Error{ErrorKind::bad_input, "more than 2^63 bytes"};
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace hodometer
