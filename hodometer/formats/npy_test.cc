#include "hodometer/formats/npy.h"

#include <gtest/gtest.h>

#include "hodometer/formats/golden_files_test.h"

namespace hodometer {
namespace {

using formats_test::as_bytes;
using formats_test::golden;
using formats_test::Writer;

using Shape = std::vector<int64_t>;

std::string file_of(std::string_view header, std::string_view data = "") {
  return Writer()
      .raw("\x93NUMPY")
      .number(uint16_t{1})
      .number(static_cast<uint16_t>(header.size()))
      .raw(header)
      .raw(data)
      .str();
}

std::string message(const std::string& bytes) {
  const auto tensor = read_npy(as_bytes(bytes), "f");
  return tensor.ok() ? "" : tensor.error().message;
}

TEST(Npy, ReadsAndWritesWhatNumPyWrites) {
  ASSERT_GE(golden().at("npy").size(), 14u);
  for (const Json& one : golden().at("npy")) {
    const std::string bytes = formats_test::from_hex(one.at("hex"));
    const auto tensor = read_npy(as_bytes(bytes), "f");
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(tensor_layout(tensor->type).name, one.at("type").get<std::string>());
    EXPECT_EQ(tensor->shape, one.at("shape").get<Shape>());
    EXPECT_EQ(tensor->offset + tensor->bytes, bytes.size());
    if (one.at("version") == 1) {
      EXPECT_EQ(*npy_header(tensor->type, tensor->shape), bytes.substr(0, tensor->offset));
    }
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string bytes = formats_test::from_hex(golden().at("npy").at(0).at("hex"));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(message(bytes.substr(0, length)), "") << length;
  }
  EXPECT_NE(message(bytes + "x").find("bytes of data: expected"), std::string::npos);
}

TEST(Npy, OtherArraysAreRefusedByName) {
  EXPECT_EQ(message("PK\x03\x04..."), "f: at byte 6: this is no .npy file");
  EXPECT_EQ(message(file_of("{'descr': '<f4', 'fortran_order': True, 'shape': (0,), }")),
            "f: at byte 66: the array is in Fortran order: expected C order");
  EXPECT_EQ(message(file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (0,), }")),
            "f: at byte 67: descr \">f4\": this type is not understood here");
  EXPECT_EQ(message(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }", "1234")),
            "f: at byte 69: 4 bytes of data: expected 12 for <f4 of shape (3, 1)");
  EXPECT_EQ(message(Writer().raw("\x93NUMPY").number(uint16_t{4}).number(uint16_t{0}).str()),
            "f: at byte 8: version 4.0: expected 1.0 to 3.0");
}

TEST(Npy, HeadersOfAnotherFormAreRefused) {
  for (const char* header :
       {"", "{", "{}", "[]", "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f4', 'fortran_order': None, 'shape': (), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), } more",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ("}) {
    EXPECT_NE(message(file_of(header, "1234")).find("expected a dictionary"), std::string::npos)
        << header;
  }
}

TEST(Npy, HeadersOfOtherTypesAreNotWritten) {
  EXPECT_EQ(npy_header(TensorType::bf16, Shape{2}).error().message, "npy: NumPy has no type BF16");
  EXPECT_FALSE(npy_header(TensorType::f32, Shape{-2}).ok());
}

}  // namespace
}  // namespace hodometer
