#include "hodometer/formats/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hodometer/formats/golden_files_test.h"

namespace hodometer {
namespace {

using formats_test::as_bytes;
using formats_test::golden;
using formats_test::golden_text;
using formats_test::Writer;

/// A file of a header and data.
std::string file_of(std::string_view header, std::string_view data = "") {
  return Writer().text(header).raw(data).str();
}

std::string message(const std::string& bytes) {
  const auto file = read_safetensors(as_bytes(bytes), "f");
  return file.ok() ? "" : file.error().message;
}

TEST(Safetensors, ReadsWhatThePackageWrites) {
  const std::string bytes = golden_text("small.safetensors");
  const auto file = read_safetensors(as_bytes(bytes), "small");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Json& want = golden().at("safetensors");
  ASSERT_EQ(file->tensors.size(), want.at("tensors").size());
  for (const Json& one : want.at("tensors")) {
    const std::string name = one.at("name");
    const FileTensor* tensor = find_tensor(file->tensors, name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor_layout(tensor->type).name, one.at("type").get<std::string>());
    EXPECT_EQ(tensor->shape, one.at("shape").get<std::vector<int64_t>>()) << name;
    EXPECT_EQ(bytes.substr(tensor->offset, tensor->bytes), formats_test::from_hex(one.at("hex")))
        << name;
  }
  ASSERT_EQ(file->metadata.size(), want.at("metadata").size());
  for (const auto& [key, value] : file->metadata) {
    EXPECT_EQ(want.at("metadata").at(key).get<std::string>(), value);
  }
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string bytes = golden_text("small.safetensors");
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(message(bytes.substr(0, length)), "") << length;
  }
  EXPECT_EQ(message(bytes.substr(0, 5)),
            "f: at byte 0: length of the header of 8 bytes: the file "
            "ends at byte 5");
  EXPECT_NE(message(bytes + "x"), "");
}

TEST(Safetensors, HostileHeaders) {
  EXPECT_EQ(message(file_of("{}")), "");
  EXPECT_EQ(message(Writer().number(uint64_t{1} << 40).raw("{}").str()),
            "f: at byte 0: a header of 1099511627776 bytes: expected at most 100000000; this is no "
            "safetensors file");
  EXPECT_EQ(message(Writer().number(uint64_t{50}).raw("{}").str()),
            "f: at byte 8: header of 50 bytes: the file ends at byte 10");
  EXPECT_EQ(message(file_of("[]")), "f: header: expected an object, got a list of 0");
  EXPECT_EQ(message(file_of(R"({"a": NaN})")), "f: header: not JSON at byte 6, near `NaN}`");
  EXPECT_EQ(message(file_of(R"({"a": {"dtype": "U8"}, "a": 1})")),
            "f: header: member \"a\" appears twice in one object");
  EXPECT_EQ(message(file_of(R"({"__metadata__": {"step": 3}})")),
            "f: header: \"__metadata__\".\"step\": expected a string, got 3");
}

TEST(Safetensors, HostileTensors) {
  const auto one = [](std::string_view entry, std::string_view data = "") {
    return message(file_of(fmt::format("{{\"a\": {}}}", entry), data));
  };
  EXPECT_EQ(one(R"({"dtype": "U8", "shape": [2], "data_offsets": [0, 2]})", "xy"), "");
  EXPECT_EQ(one(R"({"dtype": "Q9", "shape": [2], "data_offsets": [0, 2]})", "xy"),
            "f: header: \"a\".dtype: unknown type \"Q9\"");
  EXPECT_EQ(one(R"({"dtype": "U8", "shape": [2], "data_offsets": [2, 0]})", "xy"),
            "f: header: \"a\".data_offsets: expected a begin and an end that is not before it, got "
            "[2, 0]");
  EXPECT_EQ(one(R"({"dtype": "U8", "shape": [2], "data_offsets": [0, 2, 4]})", "xy"),
            "f: header: \"a\".data_offsets: expected a begin and an end that is not before it, got "
            "[0, 2, 4]");
  EXPECT_EQ(one(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 2]})", "xy"),
            "f: header: \"a\".data_offsets: 2 bytes: expected 8 for F32 [2]");
  EXPECT_EQ(
      one(R"({"dtype": "F32", "shape": [9007199254740992, 9007199254740992],
                    "data_offsets": [0, 0]})"),
      "f: header: \"a\".shape: [9007199254740992, 9007199254740992]: more than 2^63 elements");
  EXPECT_EQ(one(R"({"dtype": "U8", "shape": [-1], "data_offsets": [0, 0]})"),
            "f: header: \"a\".shape: [-1]: an extent is -1");
  EXPECT_EQ(one(R"({"dtype": "U8", "shape": [9], "data_offsets": [0, 9]})", "xy"),
            "f: tensor \"a\" has 9 bytes at byte 68: expected them within 68 to 70, where the file "
            "has its data");
  EXPECT_EQ(one(R"({"dtype": "U8", "shape": ["2"], "data_offsets": [0, 2]})", "xy"),
            "f: header: \"a\".shape[0]: expected a whole number, got the string \"2\"");
}

TEST(Safetensors, OverlapsAndHolesAreRefused) {
  const auto two = [](int begin, int end) {
    return message(
        file_of(fmt::format(R"({{"a": {{"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}},
                        "b": {{"dtype": "U8", "shape": [{}], "data_offsets": [{}, {}]}}}})",
                            end - begin, begin, end),
                "wxyz"));
  };
  EXPECT_EQ(two(2, 4), "");
  EXPECT_NE(two(1, 4).find("tensors \"a\" and \"b\" overlap"), std::string::npos);
  EXPECT_NE(two(3, 4).find("1 bytes at byte"), std::string::npos);
  EXPECT_NE(two(2, 3).find("belong to no tensor"), std::string::npos);
}

TEST(Safetensors, IndexOfShards) {
  const auto entries = read_safetensors_index(
      R"({"metadata": {"total_size": 8}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})",
      "index");
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->at(1).tensor, "b");
  EXPECT_EQ(entries->at(1).file, "m-2.safetensors");
}

TEST(Safetensors, AnIndexStaysInItsFolder) {
  const auto refusal = [](std::string_view json) {
    const auto entries = read_safetensors_index(json, "index");
    return entries.ok() ? "" : entries.error().message;
  };
  EXPECT_EQ(refusal(R"({"weight_map": {"a": "../../etc/passwd"}})"),
            "index: weight_map.\"a\": \"../../etc/passwd\" is not the name of a file in the same "
            "folder");
  EXPECT_NE(refusal(R"({"weight_map": {"a": "/dev/zero"}})"), "");
  EXPECT_NE(refusal(R"({"weight_map": {"a": ""}})"), "");
  EXPECT_NE(refusal(R"({"weight_map": {"a": ".."}})"), "");
  EXPECT_NE(refusal(R"({"weight_map": {"a": 3}})"), "");
  EXPECT_NE(refusal(R"({"weight_map": []})"), "");
  EXPECT_NE(refusal(R"([])"), "");
  EXPECT_NE(refusal("{}"), "");
}

// Whatever happens to a byte: what is read lies within the file.
RC_GTEST_PROP(Safetensors, DamageIsRefusedOrHarmless, ()) {
  std::string bytes = golden_text("small.safetensors");
  const auto hits = *rc::gen::container<std::vector<std::pair<size_t, char>>>(
      rc::gen::pair(rc::gen::inRange<size_t>(0, bytes.size()), rc::gen::arbitrary<char>()));
  for (const auto& [at, value] : hits) bytes[at] = value;
  const auto file = read_safetensors(as_bytes(bytes), "f");
  if (!file.ok()) return;
  for (const FileTensor& tensor : file->tensors) {
    RC_ASSERT(tensor.offset >= file->data_begin);
    RC_ASSERT(tensor.offset + tensor.bytes <= bytes.size());
  }
}

}  // namespace
}  // namespace hodometer
