#include "hodometer/formats/dequantise.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace hodometer {
namespace {

template <class Number>
Number load(const std::byte* from) {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

uint32_t byte_at(const std::byte* from, int64_t index) {
  return std::to_integer<uint32_t>(from[index]);
}

float from_bf16(const std::byte* from) {
  return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(from)) << 16);
}

float from_f16(const std::byte* from) {
  const uint32_t bits = load<uint16_t>(from);
  const uint32_t sign = (bits & 0x8000u) << 16;
  // A float whose exponent is off by 127 - 15: scaling by 2^112 is exact, for subnormals too.
  const float scaled = std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
  const uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

// Each takes the bytes of one block and writes its numbers. The layouts are ggml-common.h's.

template <class Number>
void widen(const std::byte* block, float* out) {
  out[0] = static_cast<float>(load<Number>(block));
}

void widen_f16(const std::byte* block, float* out) { out[0] = from_f16(block); }
void widen_bf16(const std::byte* block, float* out) { out[0] = from_bf16(block); }

void unpack_q8_0(const std::byte* block, float* out) {
  const float scale = from_f16(block);
  for (int64_t i = 0; i < 32; ++i) out[i] = scale * static_cast<float>(load<int8_t>(block + 2 + i));
}

/// Blocks of 32 whose number i has its low four bits in byte i % 16: in the low half for the first
/// sixteen, in the high half for the rest. `fifth` has a fifth bit for each, or is 0.
template <class Value>
void unpack_nibbles(const std::byte* nibbles, uint32_t fifth, float* out, Value value) {
  for (int64_t i = 0; i < 32; ++i) {
    const uint32_t low = byte_at(nibbles, i % 16) >> (i < 16 ? 0 : 4) & 15;
    out[i] = value(static_cast<float>(low | (fifth >> i & 1) << 4));
  }
}

void unpack_q4_0(const std::byte* block, float* out) {
  const float scale = from_f16(block);
  unpack_nibbles(block + 2, 0, out, [&](float q) { return scale * (q - 8); });
}

void unpack_q4_1(const std::byte* block, float* out) {
  const float scale = from_f16(block), least = from_f16(block + 2);
  unpack_nibbles(block + 4, 0, out, [&](float q) { return scale * q + least; });
}

void unpack_q5_0(const std::byte* block, float* out) {
  const float scale = from_f16(block);
  unpack_nibbles(block + 6, load<uint32_t>(block + 2), out,
                 [&](float q) { return scale * (q - 16); });
}

void unpack_q5_1(const std::byte* block, float* out) {
  const float scale = from_f16(block), least = from_f16(block + 2);
  unpack_nibbles(block + 8, load<uint32_t>(block + 4), out,
                 [&](float q) { return scale * q + least; });
}

/// Scale and minimum of part j of 8 in a block of 256: six bits each, packed into 12 bytes.
struct PartScale {
  float scale;
  float least;
};
PartScale part_scale(const std::byte* packed, int64_t j) {
  if (j < 4) {
    return {static_cast<float>(byte_at(packed, j) & 63),
            static_cast<float>(byte_at(packed, j + 4) & 63)};
  }
  const uint32_t low = byte_at(packed, j + 4);
  return {static_cast<float>((low & 15) | byte_at(packed, j - 4) >> 6 << 4),
          static_cast<float>(low >> 4 | byte_at(packed, j) >> 6 << 4)};
}

/// Q4_K and Q5_K: `high` has bit j of byte i as the fifth bit of number i of part j, or is null.
void unpack_parts(const std::byte* block, const std::byte* high, const std::byte* nibbles,
                  float* out) {
  const float scale = from_f16(block), least = from_f16(block + 2);
  for (int64_t part = 0; part < 8; ++part) {
    const PartScale own = part_scale(block + 4, part);
    const float step = scale * own.scale, from = least * own.least;
    for (int64_t i = 0; i < 32; ++i) {
      const uint32_t low = byte_at(nibbles, part / 2 * 32 + i) >> (part % 2 * 4) & 15;
      const uint32_t fifth = high == nullptr ? 0 : byte_at(high, i) >> part & 1;
      out[part * 32 + i] = step * static_cast<float>(low | fifth << 4) - from;
    }
  }
}

void unpack_q4_k(const std::byte* block, float* out) {
  unpack_parts(block, nullptr, block + 16, out);
}
void unpack_q5_k(const std::byte* block, float* out) {
  unpack_parts(block, block + 16, block + 48, out);
}

void unpack_q6_k(const std::byte* block, float* out) {
  const std::byte* low = block;           // 128 bytes: low four bits
  const std::byte* high = block + 128;    // 64 bytes: high two bits
  const std::byte* scales = block + 192;  // 16 signed bytes, one for every 16 numbers
  const float scale = from_f16(block + 208);
  for (int64_t i = 0; i < 256; ++i) {
    const int64_t half = i / 128, quarter = i % 128 / 32, lane = i % 32;
    const uint32_t four =
        byte_at(low, half * 64 + quarter % 2 * 32 + lane) >> (quarter / 2 * 4) & 15;
    const uint32_t two = byte_at(high, half * 32 + lane) >> (quarter * 2) & 3;
    const auto q = static_cast<float>(static_cast<int32_t>(four | two << 4) - 32);
    out[i] = scale * static_cast<float>(load<int8_t>(scales + i / 16)) * q;
  }
}

using Unpack = void (*)(const std::byte* block, float* out);

Unpack unpacker(TensorType type) {
  switch (type) {
    case TensorType::f64:
      return widen<double>;
    case TensorType::f32:
      return widen<float>;
    case TensorType::f16:
      return widen_f16;
    case TensorType::bf16:
      return widen_bf16;
    case TensorType::i8:
      return widen<int8_t>;
    case TensorType::q4_0:
      return unpack_q4_0;
    case TensorType::q4_1:
      return unpack_q4_1;
    case TensorType::q5_0:
      return unpack_q5_0;
    case TensorType::q5_1:
      return unpack_q5_1;
    case TensorType::q8_0:
      return unpack_q8_0;
    case TensorType::q4_k:
      return unpack_q4_k;
    case TensorType::q5_k:
      return unpack_q5_k;
    case TensorType::q6_k:
      return unpack_q6_k;
    default:
      return nullptr;
  }
}

}  // namespace

bool can_dequantise(TensorType type) { return unpacker(type) != nullptr; }

Result<std::vector<float>> dequantise(TensorType type, std::span<const std::byte> bytes) {
  const TensorLayout layout = tensor_layout(type);
  const Unpack unpack = unpacker(type);
  if (unpack == nullptr) {
    return Error{ErrorKind::unsupported,
                 fmt::format("dequantise: {}: this type is not understood here", layout.name)};
  }
  const auto block_bytes = static_cast<size_t>(layout.block_bytes);
  if (bytes.size() % block_bytes != 0) {
    return Error{ErrorKind::usage, fmt::format("dequantise: {} bytes of {}: expected a multiple of "
                                               "{}",
                                               bytes.size(), layout.name, block_bytes)};
  }
  const size_t blocks = bytes.size() / block_bytes;
  const auto block_elements = static_cast<size_t>(layout.block_elements);
  std::vector<float> out(blocks * block_elements);
  for (size_t i = 0; i < blocks; ++i) {
    unpack(bytes.data() + i * block_bytes, out.data() + i * block_elements);
  }
  return out;
}

Result<std::vector<float>> dequantise_row(std::span<const std::byte> file, const FileTensor& tensor,
                                          int64_t row) {
  const int64_t rows = [&] {
    int64_t count = 1;
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i) count *= tensor.shape[i];
    return count;
  }();
  if (row < 0 || row >= rows) {
    return Error{ErrorKind::usage, fmt::format("dequantise: row {} of tensor {}: expected 0 to {}",
                                               row, quoted_name(tensor.name), rows - 1)};
  }
  if (tensor.offset > file.size() || tensor.bytes > file.size() - tensor.offset) {
    return Error{ErrorKind::usage, fmt::format("dequantise: tensor {} lies outside the {} bytes",
                                               quoted_name(tensor.name), file.size())};
  }
  const uint64_t row_bytes = tensor.bytes / static_cast<uint64_t>(rows);
  return dequantise(
      tensor.type, file.subspan(tensor.offset + static_cast<uint64_t>(row) * row_bytes, row_bytes));
}

}  // namespace hodometer
