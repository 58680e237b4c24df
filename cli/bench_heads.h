#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hodometer/base/tensor_view.h"
#include "hodometer/kernels/convert.h"

namespace hodometer::cli {

/// [1, length, heads, head_dim] in memory of its own, filled with numbers of both signs.
class Heads {
 public:
  Heads(DType dtype, int64_t length, int64_t heads, int64_t head_dim, uint32_t seed = 1)
      : dtype_(dtype),
        length_(length),
        heads_(heads),
        head_dim_(head_dim),
        bytes_(static_cast<size_t>(count() * dtype_size(dtype))) {
    std::vector<float> values(static_cast<size_t>(count()));
    for (float& value : values) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<float>(seed >> 8) * 0x1p-23F - 1.0F;
    }
    from_float32(dtype, values.data(), bytes_.data(), count());
  }

  int64_t count() const { return length_ * heads_ * head_dim_; }
  int64_t length() const { return length_; }
  int64_t heads() const { return heads_; }
  DType dtype() const { return dtype_; }
  void* data() { return bytes_.data(); }
  HeadsView view() { return HeadsView::bshd(bytes_.data(), dtype_, 1, length_, heads_, head_dim_); }
  /// Every element.
  std::vector<float> values() const {
    std::vector<float> result(static_cast<size_t>(count()));
    to_float32(dtype_, bytes_.data(), result.data(), count());
    return result;
  }
  /// The elements of one head of tokens [first, first + tokens).
  std::vector<double> head(int64_t head, int64_t first, int64_t tokens) const {
    std::vector<double> result;
    std::vector<float> row(static_cast<size_t>(head_dim_));
    for (int64_t i = first; i < first + tokens; ++i) {
      to_float32(dtype_, bytes_.data() + (i * heads_ + head) * head_dim_ * dtype_size(dtype_),
                 row.data(), head_dim_);
      result.insert(result.end(), row.begin(), row.end());
    }
    return result;
  }

 private:
  DType dtype_;
  int64_t length_;
  int64_t heads_;
  int64_t head_dim_;
  std::vector<std::byte> bytes_;
};

}  // namespace hodometer::cli
