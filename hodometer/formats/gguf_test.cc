#include "hodometer/formats/gguf.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hodometer/formats/golden_files_test.h"

namespace hodometer {
namespace {

using formats_test::as_bytes;
using formats_test::golden;
using formats_test::golden_text;
using formats_test::Writer;

std::string message(const std::string& bytes) {
  const auto file = read_gguf(as_bytes(bytes), "f");
  return file.ok() ? "" : file.error().message;
}

/// Magic, version 3, and the two counts.
Writer head(uint64_t tensors, uint64_t keys) {
  Writer writer;
  writer.raw("GGUF").number(uint32_t{3}).number(tensors).number(keys);
  return writer;
}

Writer& key(Writer& writer, std::string_view name, GgufType type) {
  return writer.text(name).number(static_cast<uint32_t>(type));
}

Json shown(const GgufValue& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  const auto& array = std::get<GgufArray>(value);
  if (array.element == GgufType::string) {
    Json list = Json::array();
    const auto texts = gguf_strings(array);
    EXPECT_TRUE(texts.ok());
    for (const std::string_view text : *texts) list.push_back(std::string(text));
    return list;
  }
  const auto numbers = gguf_numbers(array);
  EXPECT_TRUE(numbers.ok());
  return *numbers;
}

TEST(Gguf, ReadsWhatThePackageWrites) {
  const std::string bytes = golden_text("small.gguf");
  const auto file = read_gguf(as_bytes(bytes), "small");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version, 3u);
  const Json& want = golden().at("gguf");
  ASSERT_EQ(file->keys.size(), want.at("keys").size());
  for (size_t i = 0; i < file->keys.size(); ++i) {
    const Json& expected = want.at("keys").at(i);
    const GgufKey& found = file->keys[i];
    EXPECT_EQ(found.name, expected.at("name").get<std::string>());
    EXPECT_EQ(write_json(found.type), expected.at("type")) << found.name;
    Json value = expected.at("value");
    if (value.is_array() && value.at(0).is_boolean()) value = {1.0, 0.0};
    EXPECT_EQ(shown(found.value), value) << found.name;
  }
  ASSERT_EQ(file->tensors.size(), want.at("tensors").size());
  for (size_t i = 0; i < file->tensors.size(); ++i) {
    const Json& expected = want.at("tensors").at(i);
    const FileTensor& found = file->tensors[i];
    EXPECT_EQ(found.name, expected.at("name").get<std::string>());
    EXPECT_EQ(tensor_layout(found.type).name, expected.at("type").get<std::string>());
    EXPECT_EQ(found.shape, expected.at("shape").get<std::vector<int64_t>>()) << found.name;
    EXPECT_EQ(found.offset, expected.at("offset").get<uint64_t>()) << found.name;
    EXPECT_EQ(found.bytes, expected.at("bytes").get<uint64_t>()) << found.name;
  }
}

TEST(Gguf, VersionTwoHasTheSameForm) {
  std::string bytes = golden_text("small.gguf");
  bytes[4] = 2;
  const auto file = read_gguf(as_bytes(bytes), "small");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version, 2u);
}

TEST(Gguf, OtherFilesAreRefusedByName) {
  EXPECT_EQ(message("PK\x03\x04 and more"),
            "f: at byte 4: the file begins with \"PK\\u0003\\u0004\": "
            "expected \"GGUF\"");
  EXPECT_EQ(message("GG"), "f: at byte 0: magic of 4 bytes: the file ends at byte 2");
  EXPECT_EQ(message(Writer().raw("GGUF").number(uint32_t{1}).number(uint64_t{0}).str()),
            "f: at byte 8: version 1: expected 2 or 3");
  EXPECT_EQ(message(Writer().raw("GGUF").number(uint32_t{3} << 24).number(uint64_t{0}).str()),
            "f: at byte 8: a big-endian file: expected a little-endian one");
}

TEST(Gguf, EveryTruncationIsRefused) {
  const std::string bytes = golden_text("small.gguf");
  // The writer pads the last tensor.
  const auto whole = read_gguf(as_bytes(bytes), "small");
  ASSERT_TRUE(whole.ok());
  const FileTensor& last = whole->tensors.back();
  for (size_t length = 0; length < last.offset + last.bytes; ++length) {
    EXPECT_NE(message(bytes.substr(0, length)), "") << length;
  }
}

TEST(Gguf, HugeCountsAllocateNothing) {
  EXPECT_NE(message(head(0, UINT64_MAX).str()), "");
  EXPECT_NE(message(head(UINT64_MAX, 0).str()), "");
  Writer array = head(0, 1);
  key(array, "a", GgufType::array).number(uint32_t{4}).number(UINT64_MAX).raw("12345678");
  EXPECT_EQ(message(array.str()),
            "f: at byte 49: an array of 18446744073709551615 elements: the "
            "file has 8 bytes left (in key \"a\")");
  Writer texts = head(0, 1);
  key(texts, "a", GgufType::array).number(uint32_t{8}).number(UINT64_MAX).text("x");
  EXPECT_EQ(message(texts.str()),
            "f: at byte 58: string of an array of 8 bytes: the file ends at "
            "byte 58 (in key \"a\")");
  Writer text = head(0, 1);
  key(text, "a", GgufType::string).number(UINT64_MAX).raw("x");
  EXPECT_NE(message(text.str()), "");
}

TEST(Gguf, HostileKeys) {
  Writer twice = head(0, 2);
  key(twice, "a", GgufType::uint8).number(uint8_t{1});
  key(twice, "a", GgufType::uint8).number(uint8_t{2});
  EXPECT_EQ(message(twice.str()), "f: at byte 47: key \"a\" appears twice");
  Writer type = head(0, 1);
  type.text("a").number(uint32_t{13});
  EXPECT_EQ(message(type.str()), "f: at byte 37: type 13: expected 0 to 12 (in key \"a\")");
  Writer truth = head(0, 1);
  key(truth, "a", GgufType::boolean).number(uint8_t{2});
  EXPECT_EQ(message(truth.str()), "f: at byte 38: a bool of 2: expected 0 or 1 (in key \"a\")");
  Writer empty = head(0, 1);
  empty.text("");
  EXPECT_EQ(message(empty.str()), "f: at byte 32: name of a key has 0 bytes: expected 1 to 65535");
  Writer deep = head(0, 1);
  key(deep, "a", GgufType::array);
  for (int i = 0; i < 1000; ++i) deep.number(uint32_t{9}).number(uint64_t{1});
  EXPECT_NE(message(deep.str()).find("arrays nested more than 4 deep"), std::string::npos);
}

TEST(Gguf, HostileTensors) {
  const auto one = [](uint32_t dimensions, std::vector<int64_t> extents, uint32_t type,
                      uint64_t offset, uint32_t alignment = 32) {
    Writer writer = head(1, 1);
    key(writer, "general.alignment", GgufType::uint32).number(alignment);
    writer.text("t").number(dimensions);
    for (const int64_t extent : extents) writer.number(extent);
    writer.number(type).number(offset);
    return message(writer.raw(std::string(200, '\0')).str());
  };
  EXPECT_EQ(one(2, {4, 2}, 0, 32), "");
  EXPECT_NE(one(5, {1, 1, 1, 1, 1}, 0, 0).find("5 dimensions: expected at most 4"),
            std::string::npos);
  EXPECT_NE(one(2, {-4, 2}, 0, 0).find("an extent is -4"), std::string::npos);
  EXPECT_NE(one(2, {int64_t{1} << 62, 4}, 0, 0).find("more than 2^63 elements"), std::string::npos);
  EXPECT_NE(one(2, {33, 1}, 2, 0).find("33 elements of Q4_0"), std::string::npos);
  EXPECT_NE(one(1, {4}, 99, 0).find("unknown type 99"), std::string::npos);
  EXPECT_NE(one(1, {4}, 0, 8).find("offset 8 is no multiple of the alignment 32"),
            std::string::npos);
  EXPECT_NE(one(1, {4}, 0, UINT64_MAX - 31).find("its offset leaves the file"), std::string::npos);
  EXPECT_NE(one(1, {400}, 0, 0).find("has 1600 bytes at byte"), std::string::npos);
  EXPECT_NE(one(1, {4}, 0, 0, 0).find("expected a uint32 that is a power of two"),
            std::string::npos);
  EXPECT_NE(one(1, {4}, 0, 0, 48).find("expected a uint32 that is a power of two"),
            std::string::npos);
}

TEST(Gguf, ArraysOfAnotherKindAreRefused) {
  const GgufArray texts{GgufType::string, 0, {}};
  const GgufArray numbers{GgufType::int32, 0, {}};
  EXPECT_FALSE(gguf_numbers(texts).ok());
  EXPECT_FALSE(gguf_strings(numbers).ok());
}

// Whatever happens to a byte: what is read lies within the file.
RC_GTEST_PROP(Gguf, DamageIsRefusedOrHarmless, ()) {
  std::string bytes = golden_text("small.gguf");
  const auto hits = *rc::gen::container<std::vector<std::pair<size_t, char>>>(
      rc::gen::pair(rc::gen::inRange<size_t>(0, 3000), rc::gen::arbitrary<char>()));
  for (const auto& [at, value] : hits) bytes[at] = value;
  const auto file = read_gguf(as_bytes(bytes), "f");
  if (!file.ok()) return;
  for (const FileTensor& tensor : file->tensors) {
    RC_ASSERT(tensor.offset + tensor.bytes <= bytes.size());
  }
  for (const GgufKey& one : file->keys) {
    RC_ASSERT(one.name.data() >= bytes.data());
    RC_ASSERT(one.name.data() + one.name.size() <= bytes.data() + bytes.size());
  }
}

}  // namespace
}  // namespace hodometer
