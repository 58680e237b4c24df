#include <gtest/gtest.h>

#include "hodometer/base/json-inl.h"

namespace hodometer {
namespace {

TEST(Json, ErrorsSayWhere) {
  EXPECT_EQ(parse_json("", "config").error().message, "config: JSON ends early, at byte 0");
  EXPECT_EQ(parse_json("{\"a\": 1,,}", "config").error().message,
            "config: not JSON at byte 8, near `,}`");
  EXPECT_EQ(parse_json("{\"a\": 1}{", "config").error().message,
            "config: not JSON at byte 8, near `{`");
  EXPECT_EQ(parse_json(R"({"a": {"b": 1, "b": 2}})", "config").error().message,
            "config: member \"b\" appears twice in one object");
  EXPECT_FALSE(parse_json("{\"a\": NaN}", "config").ok());
  EXPECT_FALSE(parse_json("{\"a\": 1e999}", "config").ok());
  EXPECT_FALSE(parse_json("{\"a\": \"\xff\"}", "config").ok());
}

TEST(Json, TheSameNameInTwoObjectsIsFine) {
  EXPECT_TRUE(parse_json(R"([{"a": 1}, {"a": {"a": 2}}])", "config").ok());
}

TEST(Json, DeepNestingIsRefusedNotRecursed) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(parse_json(deep, "config").error().message, "config: nested more than 64 levels deep");
}

TEST(Json, OrderIsKept) {
  EXPECT_EQ(parse_json(R"({"z":1,"a":2,"m":3})", "x")->dump(), R"({"z":1,"a":2,"m":3})");
}

TEST(Json, DescribeIsShort) {
  EXPECT_EQ(describe(Json("8")), "the string \"8\"");
  EXPECT_EQ(describe(Json(nullptr)), "null");
  EXPECT_EQ(describe(Json::array({1, 2})), "a list of 2");
  EXPECT_LT(describe(Json(std::string(5000, 'x'))).size(), 100u);
}

}  // namespace
}  // namespace hodometer
