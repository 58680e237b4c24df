#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hodometer/base/result.h"

namespace hodometer {

/// The element types of tensors in model files. A type with a `q` in it packs blocks of numbers
/// with their scales.
enum class TensorType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8_e5m2,
  f8_e4m3,
  f8_e5m2fnuz,
  f8_e4m3fnuz,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4,
  c64,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q1_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  iq4_nl,
  iq4_xs,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
};

/// How a type lies in memory: `block_elements` numbers in `block_bytes` bytes.
struct TensorLayout {
  std::string_view name;  ///< as the format that has it writes it: "BF16", "Q4_K"
  int64_t block_elements = 1;
  int64_t block_bytes = 1;
};

TensorLayout tensor_layout(TensorType type);

/// The type of a number in a GGUF file (ggml_type), or nothing.
std::optional<TensorType> tensor_type_from_ggml(uint32_t id);

/// The type of a "dtype" in a safetensors file, or nothing.
std::optional<TensorType> tensor_type_from_safetensors(std::string_view dtype);

/// Bytes of a contiguous tensor. `shape` is slowest dimension first, as in NumPy; rows of packed
/// types hold whole blocks. Errors: a negative extent, a row that is no multiple of the block, more
/// bytes than 2^63.
Result<uint64_t> tensor_bytes(TensorType type, std::span<const int64_t> shape);

}  // namespace hodometer
