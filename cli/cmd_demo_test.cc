#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

using nlohmann::json;

Outcome order(const std::string& first, const std::string& second,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"demo", "order", first, second};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return hodo(arguments);
}

TEST(Demo, SaysWhichMethodsTellTheSentencesApart) {
  const Outcome outcome = order("dog bites man", "man bites dog");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  int methods = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    if (line.starts_with("none   ")) {
      EXPECT_TRUE(line.ends_with(" 0  cannot tell")) << line;
    }
    if (line.starts_with("none, causal mask")) {
      EXPECT_TRUE(line.ends_with("tells by the mask alone")) << line;
    }
    for (const char* name : {"sinusoidal", "learned", "rotary", "mrope", "xpos",
                             "alibi, causal mask", "t5_bias", "shaw"}) {
      if (!line.starts_with(name)) continue;
      ++methods;
      EXPECT_TRUE(line.ends_with("  tells")) << line;
    }
  }
  EXPECT_EQ(methods, 8);
  EXPECT_TRUE(has(outcome.out, "mirror image"));
}

TEST(Demo, JsonHasEveryWordAndLane) {
  const json result = order("dog bites man", "man bites dog", {"--json"}).json();
  EXPECT_EQ(result.value("schema", 0), 1);
  EXPECT_EQ(result["second"], json({"man", "bites", "dog"}));
  const json& none = result["methods"][0];
  EXPECT_EQ(none["mask"], "bidirectional");
  EXPECT_EQ(none["tells_apart"], false);
  EXPECT_EQ(none["difference"], 0.0);
  EXPECT_EQ(none["words"][2]["word"], "man");
  EXPECT_EQ(none["words"][2]["first"], none["words"][2]["second"]);
  EXPECT_EQ(none["words"][2]["first"][0].size(), 8U);
  EXPECT_EQ(result["methods"][1]["mask"], "causal");
  EXPECT_EQ(result["methods"][1]["tells_apart"], true);
}

TEST(Demo, TheSameWordsGiveTheSameNumbersEveryTime) {
  const Outcome once = order("a b c d e f g h", "h g f e d c b a");
  EXPECT_EQ(once.code, 0);
  EXPECT_EQ(once.out, order("a b c d e f g h", "h g f e d c b a").out);
  EXPECT_TRUE(has(once.out, "Words not shown: 5; --json has all."));
}

TEST(Demo, OtherWordsAreUsageErrors) {
  const auto failure = [](const std::string& first, const std::string& second) {
    const Outcome outcome = order(first, second);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_TRUE(has(failure("dog bites man", "man bites cat"), "\"dog\""));
  EXPECT_TRUE(has(failure("dog bites man", "dog bites man"), "equal"));
  EXPECT_TRUE(has(failure("", ""), "0 words"));
  EXPECT_TRUE(has(failure("\x1b[2J a", "a b"), "\\x1b[2J"));
  EXPECT_EQ(hodo({"demo", "chaos", "a b", "b a"}).code, 2);
  EXPECT_EQ(hodo({"demo", "order", "a b"}).code, 2);
}

}  // namespace
}  // namespace hodometer::cli::testing
