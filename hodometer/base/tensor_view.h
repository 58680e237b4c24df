#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hodometer {

/// The element types that data may have. Arithmetic is always float32: load, compute, round once
/// on store.
enum class DType : uint8_t { float32, bfloat16, float16 };

/// The name as it appears in text: "float32", "bfloat16" or "float16".
constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float16:
      return "float16";
  }
  return "unknown";
}

/// Bytes per element.
constexpr int64_t dtype_size(DType dtype) { return dtype == DType::float32 ? 4 : 2; }

/// Heads of a batch of sequences, wherever they lie in memory. Owns nothing.
///
/// The logical shape is always [batch, length, heads, head_dim]; memory order is said by the
/// strides, in elements. Batch-sequence-head-dim, batch-head-sequence-dim, a packed batch without
/// padding (batch 1) and the q or k part of a fused projection are four choices of strides and
/// nothing else. The last dimension is always contiguous.
struct HeadsView {
  void* data = nullptr;
  DType dtype = DType::float32;
  int64_t batch = 0;
  int64_t length = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t batch_stride = 0;
  int64_t length_stride = 0;
  int64_t head_stride = 0;

  /// Contiguous [batch, length, heads, head_dim].
  static constexpr HeadsView bshd(void* data, DType dtype, int64_t batch, int64_t length,
                                  int64_t heads, int64_t head_dim) {
    return {
        data,    dtype, batch, length, heads, head_dim, length * heads * head_dim, heads * head_dim,
        head_dim};
  }
  /// Contiguous [batch, heads, length, head_dim].
  static constexpr HeadsView bhsd(void* data, DType dtype, int64_t batch, int64_t length,
                                  int64_t heads, int64_t head_dim) {
    return {data,
            dtype,
            batch,
            length,
            heads,
            head_dim,
            length * heads * head_dim,
            head_dim,
            length * head_dim};
  }
};

}  // namespace hodometer
