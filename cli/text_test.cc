// The pieces that turn values into text and back.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/json_text.h"
#include "cli/nested_list.h"
#include "cli/number_text.h"
#include "cli/position_list.h"
#include "cli/text_table.h"
#include "cli/usage.h"

namespace hodometer::cli {
namespace {

TEST(PositionList, ReadsNumbersRangesAndSteps) {
  const auto list = [](std::string_view text) {
    const auto result = parse_positions("--positions", text);
    return result.ok() ? *result : std::vector<int64_t>{-999};
  };
  EXPECT_EQ(list("0,1,5-8,131071"), (std::vector<int64_t>{0, 1, 5, 6, 7, 8, 131071}));
  EXPECT_EQ(list("0-100:25"), (std::vector<int64_t>{0, 25, 50, 75, 100}));
  EXPECT_EQ(list("0-99:25"), (std::vector<int64_t>{0, 25, 50, 75}));
  EXPECT_EQ(list("-5--3"), (std::vector<int64_t>{-5, -4, -3}));
  EXPECT_EQ(list("-1-1"), (std::vector<int64_t>{-1, 0, 1}));
  EXPECT_EQ(list("7-7"), (std::vector<int64_t>{7}));
  EXPECT_EQ(list("1-1000000").size(), 1000000U);
  EXPECT_EQ(list("9223372036854775806-9223372036854775807").size(), 2U);
}

TEST(PositionList, RefusesTheRestBeforeStoringAnything) {
  for (const char* text :
       {"", ",", "1,", "a", "1-", "3-1", "1-5:0", "1-5:-1", "1-5:", "1 ", "1.5", "0x1", "0-1000000",
        "-9223372036854775808-9223372036854775807", "99999999999999999999", "1;2", "0;1,2"}) {
    EXPECT_FALSE(parse_positions("--positions", text).ok()) << text;
  }
  const auto ragged = parse_position_axes("--positions", "0,1;0");
  ASSERT_FALSE(ragged.ok());
  EXPECT_NE(ragged.error().message.find("axis 1"), std::string::npos);
}

TEST(JsonText, WritesTheFewestDigitsThatComeBack) {
  EXPECT_EQ(json_text(Json(0.1)), "0.1\n");
  EXPECT_EQ(json_text(Json(1.0)), "1.0\n");
  EXPECT_EQ(json_text(Json(1e300)), "1e+300\n");
  EXPECT_EQ(json_text(Json(2.0 / 3)), "0.6666666666666666\n");
  EXPECT_EQ(json_text(number_list(std::vector<float>{0.1F, 16777216.0F})), "[0.1, 16777216.0]\n");
  EXPECT_EQ(json_text(number_list(std::vector<double>{double{0.1F}}, Precision::float32)),
            "[0.1]\n");
  EXPECT_EQ(json_text(number_list(std::vector<double>{std::numeric_limits<double>::infinity()},
                                  Precision::float64)),
            "[null]\n");
}

TEST(JsonText, KeepsNumbersOnOneLineAndMembersOnTheirOwn) {
  EXPECT_EQ(
      json_text({{"schema", 1},
                 {"rows", number_rows(std::vector<double>{1, 2, 3, 4}, 2, Precision::float64)}}),
      "{\n  \"schema\": 1,\n  \"rows\": [\n    [1.0, 2.0],\n    [3.0, 4.0]\n  ]\n}\n");
  EXPECT_EQ(json_text(Json::object()), "{}\n");
  EXPECT_EQ(json_text(Json("\xff")), "\"\xef\xbf\xbd\"\n");
}

TEST(NumberText, IsForPeople) {
  EXPECT_EQ(grouped(131072), "131,072");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(-999), "-999");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(wavelength_text(6.28318), "6.283");
  EXPECT_EQ(wavelength_text(54410.14), "54,410");
  EXPECT_EQ(wavelength_text(999.96), "1,000");
  EXPECT_EQ(wavelength_text(2.0473e7), "20,470,000");
  EXPECT_EQ(wavelength_text(1e30), "1.000e+30");
  EXPECT_EQ(wavelength_text(std::numeric_limits<double>::infinity()), "never");
  EXPECT_EQ(factor_text(1.138629436), "1.13863");
}

TEST(TextTable, IsTabSeparatedInPipesAndFitsTerminals) {
  TextTable table({{"name", Align::left, 5}, {"n", Align::right}});
  table.add({"a long name", "7"});
  table.add({"tab\tbed", "100"});
  EXPECT_EQ(table.text(Console(false, false, 100)), "name\tn\na long name\t7\ntab\\x09bed\t100\n");
  EXPECT_EQ(table.text(Console(true, false, 12)), "name       n\na long…    7\ntab\\x0…  100\n");
  EXPECT_EQ(table.text(Console(true, false, 100)),
            "name           n\na long name    7\ntab\\x09bed   100\n");
}

TEST(Console, CountsAndCutsCharactersNotBytes) {
  EXPECT_EQ(display_width("λ=2π"), 4);
  EXPECT_EQ(display_width("\x1b[1mab\x1b[0m"), 2);
  EXPECT_EQ(cut_to_width("λλλλ", 3), "λλ…");
  EXPECT_EQ(cut_to_width("abc", 3), "abc");
  EXPECT_EQ(printable("a\x1b[2Jb\n"), "a\\x1b[2Jb\n");
  // U+009B is ESC [ in one; U+00A0 is a space.
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\x7f"),
            "\\xc2\\x9b31m\\x7f");
  EXPECT_EQ(printable("\xc2\xa0λ€😀"), "\xc2\xa0λ€😀");
  // No characters: a byte that 8-bit terminals obey, one that is cut, ESC in three bytes.
  EXPECT_EQ(printable("\x9b"
                      "1m\xe2\x82"),
            "\\x9b1m\\xe2\\x82");
  EXPECT_EQ(printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(exit_code(ErrorKind::limit), ExitCode::bad_input);
  EXPECT_EQ(exit_code(ErrorKind::io), ExitCode::io);
}

TEST(Usage, WrapsAtWords) {
  EXPECT_EQ(wrapped("one two three", 2, 10), "  one two\n  three\n");
  EXPECT_EQ(wrapped("incomprehensibilities", 0, 5), "incomprehensibilities\n");
}

TEST(NestedList, KeepsTheShape) {
  const Json value = Json::parse("[[[1,2],[3,4]],[[5,6],[7,8]],[[9,10],[11,12]]]");
  const auto list = read_nested_list(value, "x");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->shape, (std::vector<int64_t>{3, 2, 2}));
  EXPECT_EQ(list->values.size(), 12U);
  EXPECT_EQ(nested_json(list->shape, list->values), value);
  const auto doubles = read_nested_list<double>(Json::parse("[[0.1],[1e300]]"), "x");
  ASSERT_TRUE(doubles.ok());
  EXPECT_EQ(doubles->values, (std::vector<double>{0.1, 1e300}));
  EXPECT_EQ(nested_json<double>({1, 1}, {0.1}), Json::parse("[[0.1]]"));
}

}  // namespace
}  // namespace hodometer::cli
