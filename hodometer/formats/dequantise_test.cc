#include "hodometer/formats/dequantise.h"

#include <bit>
#include <cmath>

#include "hodometer/formats/gguf.h"
#include "hodometer/formats/golden_files_test.h"

namespace hodometer {
namespace {

using formats_test::as_bytes;
using formats_test::golden;
using formats_test::golden_text;
using formats_test::Writer;

TensorType type_named(const std::string& name) {
  return *tensor_type_from_ggml(golden().at("ggml_types").at(name).at(0).get<uint32_t>());
}

TEST(Dequantise, PackedBlocksAreThoseOfTheGgufPackage) {
  ASSERT_EQ(golden().at("blocks").size(), 8u);
  for (const Json& block : golden().at("blocks")) {
    const std::string name = block.at("type");
    const std::string bytes = formats_test::from_hex(block.at("hex"));
    const auto numbers = dequantise(type_named(name), as_bytes(bytes));
    ASSERT_TRUE(numbers.ok()) << numbers.error().message;
    const auto want = block.at("numbers").get<std::vector<float>>();
    ASSERT_EQ(numbers->size(), want.size()) << name;
    for (size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ(numbers->at(i), want[i]) << name << i;
  }
}

TEST(Dequantise, EveryFloat16AndBfloat16) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const std::string bytes = Writer().number(static_cast<uint16_t>(bits)).str();
    const float half = dequantise(TensorType::f16, as_bytes(bytes))->at(0);
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const auto fraction = static_cast<double>(bits & 1023);
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(half), fraction != 0) << bits;
      EXPECT_FALSE(std::isfinite(half)) << bits;
    } else {
      EXPECT_EQ(half, sign * (exponent == 0 ? std::ldexp(fraction, -24)
                                            : std::ldexp(1024 + fraction, exponent - 25)))
          << bits;
    }
    EXPECT_EQ(std::signbit(half), bits >> 15 != 0) << bits;
    const float brain = dequantise(TensorType::bf16, as_bytes(bytes))->at(0);
    EXPECT_EQ(std::bit_cast<uint32_t>(brain), bits << 16);
  }
}

TEST(Dequantise, PlainTypes) {
  EXPECT_EQ(dequantise(TensorType::f64, as_bytes(Writer().number(0.1).str()))->at(0), 0.1f);
  EXPECT_EQ(dequantise(TensorType::i8, as_bytes(Writer().number(int8_t{-7}).str()))->at(0), -7.0f);
  EXPECT_TRUE(dequantise(TensorType::f32, {})->empty());
}

TEST(Dequantise, UnknownTypesAndPartsOfBlocksAreRefused) {
  EXPECT_FALSE(can_dequantise(TensorType::iq2_xs));
  EXPECT_EQ(dequantise(TensorType::iq2_xs, {}).error().message,
            "dequantise: IQ2_XS: this type is not understood here");
  EXPECT_EQ(dequantise(TensorType::q4_0, as_bytes("123")).error().message,
            "dequantise: 3 bytes of Q4_0: expected a multiple of 18");
}

TEST(Dequantise, RowsOfAFile) {
  const std::string bytes = golden_text("small.gguf");
  const auto file = read_gguf(as_bytes(bytes), "small");
  ASSERT_TRUE(file.ok());
  const FileTensor* plain = find_tensor(file->tensors, "plain.float32");
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(*dequantise_row(as_bytes(bytes), *plain, 2), (std::vector<float>{10, 11, 12, 13, 14}));
  EXPECT_EQ(dequantise_row(as_bytes(bytes), *plain, 3).error().message,
            "dequantise: row 3 of tensor \"plain.float32\": expected 0 to 2");
  EXPECT_FALSE(dequantise_row(as_bytes(bytes), *plain, -1).ok());
  EXPECT_FALSE(dequantise_row(as_bytes("short"), *plain, 0).ok());
  const FileTensor* packed = find_tensor(file->tensors, "packed.Q4_K");
  ASSERT_NE(packed, nullptr);
  const auto row = dequantise_row(as_bytes(bytes), *packed, 1);
  const auto all = dequantise(packed->type, as_bytes(bytes).subspan(packed->offset, packed->bytes));
  ASSERT_EQ(row->size(), 512u);
  EXPECT_TRUE(std::equal(row->begin(), row->end(), all->begin() + 512));
}

}  // namespace
}  // namespace hodometer
