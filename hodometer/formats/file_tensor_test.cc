#include "hodometer/formats/file_tensor.h"

#include <gtest/gtest.h>

namespace hodometer {
namespace {

FileTensor tensor(std::string name, uint64_t offset, uint64_t bytes) {
  return {std::move(name), TensorType::u8, {static_cast<int64_t>(bytes)}, offset, bytes};
}

std::string message(std::vector<FileTensor> tensors, Gaps gaps = Gaps::allowed) {
  const Status status = check_tensors(tensors, 100, 200, gaps, "f");
  return status.ok() ? "" : status.error().message;
}

TEST(FileTensor, AnyOrderAndEmptyTensorsPass) {
  EXPECT_EQ(message({tensor("b", 150, 50), tensor("a", 100, 50)}, Gaps::refused), "");
  EXPECT_EQ(message({tensor("a", 100, 60), tensor("e", 130, 0), tensor("b", 160, 40)}), "");
  EXPECT_EQ(message({tensor("e", 200, 0)}), "");
}

TEST(FileTensor, FaultsAreNamedWithTheirPlace) {
  EXPECT_EQ(message({tensor("a", 100, 10), tensor("a", 110, 10)}), "f: tensor \"a\" appears twice");
  EXPECT_EQ(message({tensor("a", 100, 20), tensor("b", 119, 5)}),
            "f: tensors \"a\" and \"b\" overlap at byte 119");
  EXPECT_EQ(message({tensor("a", 100, 20), tensor("e", 105, 0), tensor("b", 119, 5)}),
            "f: tensors \"a\" and \"b\" overlap at byte 119");
  EXPECT_EQ(message({tensor("a", 150, 51)}),
            "f: tensor \"a\" has 51 bytes at byte 150: expected them within 100 to 200, where the "
            "file has its data");
  EXPECT_NE(message({tensor("a", 99, 1)}), "");
  EXPECT_NE(message({tensor("a", 201, 0)}), "");
  EXPECT_NE(message({tensor("a", 150, UINT64_MAX)}), "");
}

TEST(FileTensor, GapsCountWhereTheyAreRefused) {
  EXPECT_EQ(message({tensor("a", 100, 10), tensor("b", 120, 80)}), "");
  EXPECT_EQ(message({tensor("a", 100, 10), tensor("b", 120, 80)}, Gaps::refused),
            "f: 10 bytes at byte 110 belong to no tensor");
  EXPECT_EQ(message({tensor("a", 100, 10)}, Gaps::refused),
            "f: 90 bytes at byte 110 belong to no tensor");
}

TEST(FileTensor, NamesOfOutsideDataAreEscapedAndCut) {
  EXPECT_EQ(quoted_name("a\x1b[2J\n"), "\"a\\u001b[2J\\n\"");
  EXPECT_EQ(quoted_name("\xff"), "\"\\ufffd\"");
  EXPECT_EQ(quoted_name(std::string(1000, 'x')), '"' + std::string(80, 'x') + "\"...");
}

TEST(FileTensor, FindsByName) {
  const std::vector<FileTensor> tensors = {tensor("a", 0, 1), tensor("b", 1, 1)};
  EXPECT_EQ(find_tensor(tensors, "b"), &tensors[1]);
  EXPECT_EQ(find_tensor(tensors, "c"), nullptr);
}

}  // namespace
}  // namespace hodometer
