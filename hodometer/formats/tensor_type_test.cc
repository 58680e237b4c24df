#include "hodometer/formats/tensor_type.h"

#include "hodometer/formats/golden_files_test.h"

namespace hodometer {
namespace {

using formats_test::golden;

// Q8_1 is a type of intermediate results and in no file.
TEST(TensorType, GgmlTypesAreThoseOfTheGgufPackage) {
  int known = 0;
  for (const auto& [name, sizes] : golden().at("ggml_types").items()) {
    const auto type = tensor_type_from_ggml(sizes.at(0).get<uint32_t>());
    if (name == "Q8_1") {
      EXPECT_FALSE(type);
      continue;
    }
    ASSERT_TRUE(type) << name;
    const TensorLayout layout = tensor_layout(*type);
    EXPECT_EQ(layout.name, name);
    EXPECT_EQ(layout.block_elements, sizes.at(1).get<int64_t>()) << name;
    EXPECT_EQ(layout.block_bytes, sizes.at(2).get<int64_t>()) << name;
    ++known;
  }
  EXPECT_GE(known, 30);
  EXPECT_FALSE(tensor_type_from_ggml(4));  // Q4_2, removed
  EXPECT_FALSE(tensor_type_from_ggml(0xffffffff));
}

TEST(TensorType, SafetensorsNames) {
  EXPECT_EQ(tensor_type_from_safetensors("BF16"), TensorType::bf16);
  EXPECT_EQ(tensor_type_from_safetensors("F8_E4M3"), TensorType::f8_e4m3);
  EXPECT_FALSE(tensor_type_from_safetensors("Q4_K"));
  EXPECT_FALSE(tensor_type_from_safetensors("bf16"));
  EXPECT_FALSE(tensor_type_from_safetensors(""));
}

TEST(TensorType, BytesOfShapes) {
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(*tensor_bytes(TensorType::f32, Shape{3, 5}), 60u);
  EXPECT_EQ(*tensor_bytes(TensorType::f32, Shape{}), 4u);
  EXPECT_EQ(*tensor_bytes(TensorType::f32, Shape{0, int64_t{1} << 62, 8}), 0u);
  EXPECT_EQ(*tensor_bytes(TensorType::q4_k, Shape{2, 512}), 2u * 2 * 144);
  EXPECT_EQ(*tensor_bytes(TensorType::f4, Shape{3, 2}), 3u);
  EXPECT_EQ(*tensor_bytes(TensorType::f4, Shape{2, 3}), 3u);  // packed over rows
}

TEST(TensorType, ImpossibleShapesAreRefused) {
  using Shape = std::vector<int64_t>;
  const auto message = [](TensorType type, const Shape& shape) {
    return tensor_bytes(type, shape).error().message;
  };
  EXPECT_EQ(message(TensorType::f32, {-1}), "an extent is -1");
  EXPECT_EQ(message(TensorType::f32, {0, -1}), "an extent is -1");
  EXPECT_EQ(message(TensorType::f32, {int64_t{1} << 62, 4}), "more than 2^63 elements");
  EXPECT_EQ(message(TensorType::f64, {int64_t{1} << 60, 2}), "more than 2^63 bytes");
  EXPECT_EQ(message(TensorType::q4_0, {2, 48}), "48 elements of Q4_0: expected a multiple of 32");
  EXPECT_EQ(message(TensorType::q4_0, {32, 1}), "1 elements of Q4_0: expected a multiple of 32");
}

}  // namespace
}  // namespace hodometer
