#include <algorithm>
#include <string>
#include <vector>

#include "cli/run_hodo_test.h"

namespace hodometer::cli::testing {
namespace {

const std::vector<std::string> verbs = {"apply", "attend",  "bench", "completion",
                                        "demo",  "inspect", "man",   "table"};
constexpr const char* alibi = R"({"method":"alibi","num_heads":8})";

TEST(Program, SaysItsVersion) {
  const Outcome outcome = hodo({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "hodo " HODOMETER_VERSION "\n");
}

TEST(Program, HelpBeginsWithAnExampleAndNamesEveryVerb) {
  const Outcome whole = hodo({"--help"});
  EXPECT_EQ(whole.code, 0);
  EXPECT_TRUE(whole.out.starts_with("Example: hodo "));
  EXPECT_EQ(whole.err, "");
  for (const std::string& verb : verbs) {
    EXPECT_TRUE(has(whole.out, "  " + verb + " "));
    const Outcome help = hodo({verb, "--help"});
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_TRUE(help.out.starts_with("Example: ")) << help.out;
    EXPECT_TRUE(has(help.out, "Usage: hodo " + verb));
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Program, AnUnknownInstructionSetIsNamed) {
  const Outcome outcome = hodo({"table", "--spec", alibi}, "", {{"HODO_TARGET", "AVX99"}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(has(outcome.err, "HODO_TARGET: no instruction set \"AVX99\""));
  EXPECT_TRUE(has(outcome.err, "EMU128"));
  EXPECT_EQ(hodo({"table", "--help"}, "", {{"HODO_TARGET", "AVX99"}}).code, 0);
}

TEST(Program, WrongCommandLinesAreUsageErrors) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"frobnicate"},
      {"inspect"},
      {"table", "--no-such-option"},
      {"table"},
      {"table", "a.json", "--spec", alibi},
      {"table", "--spec", alibi, "--angles", "approximate"},
      {"table", "--spec", alibi, "--positions", "5-1"},
      {"table", "--spec", alibi, "--positions", "1,,2"},
      {"table", "--spec", alibi, "--positions", "0-2000000"},
      {"table", "--spec", alibi, "--positions", "99999999999999999999"},
      {"table", "--spec", alibi, "--use", "nothing"},
      {"apply", "--spec", alibi},
      {"apply", "--spec", alibi, "--positions", "0", "--inverse"},
      {"attend"},
      {"bench", "nothing"},
      {"bench", "table", "--seconds", "-1"},
      {"completion", "cmd.exe"},
      {"apply", "--spec", R"({"method":"nope"})", "--positions", "0", "--key-positions", "1"},
      // Variables of the shell that were never set.
      {"table", "--spec", alibi, "--positions", ""},
      {"table", "--spec", alibi, "--use", ""},
      {"table", ""},
      {"table", "a.json", "--spec", ""},
      {"table", "--spec", alibi, "--context-length", ""},
      {"table", "--spec", alibi, "--context-length", "0"},
      {"table", "--spec", alibi, "--context-length", "99999999999999999999"},
      {"table", "--spec", "@"},
      {"inspect", ""},
      {"apply", "--spec", "", "--positions", "0"},
      {"apply", "--spec", alibi, "--positions", "0", "--context-length", "1e3"},
      {"apply", "--spec", alibi, "--positions", ""},
      {"apply", "--spec", alibi, "--positions", "0", "--key-positions", ""},
  };
  for (const auto& arguments : wrong) {
    const Outcome outcome = hodo(arguments);
    EXPECT_EQ(outcome.code, 2) << (arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
}

TEST(Program, WrongSpecsAreBadInputThatNamesTheMember) {
  const auto failure = [](const char* spec) {
    const Outcome outcome = hodo({"table", "--spec", spec});
    EXPECT_EQ(outcome.code, 3) << spec;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_TRUE(has(failure(R"({"method":"alibi")"), "byte"));
  EXPECT_TRUE(has(failure(R"({"method":"alibi","heads":8})"), "\"heads\""));
  EXPECT_TRUE(has(failure(R"({"method":"rope"})"), "rotary"));
  EXPECT_TRUE(
      has(failure(R"({"method":"rotary","head_dim":7,"layout":"half_split","base":1e4})"), "7"));
  EXPECT_TRUE(has(failure(R"({"method":"rotary","head_dim":8,"base":1e4})"), "layout"));
  EXPECT_TRUE(has(failure(R"({"method":"rotary","head_dim":1e300,"layout":"half_split","base":1})"),
                  "head_dim"));
  EXPECT_TRUE(has(failure("[]"), "object"));
}

TEST(Program, MissingFilesAreInputOutputErrors) {
  const Folder folder;
  for (const std::string& path : {folder.path("none.json"), folder.path("")}) {
    const Outcome outcome = hodo({"inspect", path});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(has(outcome.err, "No such file"));
    EXPECT_TRUE(has(outcome.err, path));
  }
}

TEST(Program, AFileThatCannotBeAConfigIsNotRead) {
  const Folder folder;
  const std::string large = folder.file("large.json", "");
  std::filesystem::resize_file(large, (uint64_t{64} << 20) + 1);
  const Outcome outcome = hodo({"inspect", large});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(has(outcome.err, "64 MiB"));
}

TEST(Program, SaysWhenOutputCannotBeWritten) {
  const std::string command = std::string("\"$HODO\" table --json --spec '") + alibi + "'";
  const Outcome full = shell(command + " >/dev/full");
  EXPECT_EQ(full.code, 4);
  EXPECT_TRUE(has(full.err, "No space left"));
  EXPECT_TRUE(shell("\"$HODO\" --help >/dev/full").err.starts_with("hodo: standard output"));
  const Outcome closed = shell(command + " >&-");
  EXPECT_EQ(closed.code, 4);
  EXPECT_TRUE(has(closed.err, "standard output"));
}

TEST(Program, IsQuietWhenTheReaderGoesAway) {
  const std::string command =
      R"("$HODO" table --positions 0-20000 --spec )"
      R"('{"method":"rotary","head_dim":8,"layout":"half_split","base":10000}')";
  EXPECT_EQ(shell(command + " | head -c 10").err, "");
  EXPECT_EQ(shell("trap '' PIPE; " + command + " | head -c 10").err, "");
}

TEST(Program, IsPlainInPipesAndColouredOnTerminals) {
  const std::vector<std::string> arguments = {"table", "--spec", alibi};
  EXPECT_EQ(hodo(arguments).out.find('\x1b'), std::string::npos);
  EXPECT_TRUE(has(hodo(arguments).out, "0\t0.5\n"));
  EXPECT_TRUE(has(hodo_on_terminal(arguments).out, "\x1b[1m"));
  EXPECT_EQ(hodo_on_terminal(arguments, {{"NO_COLOR", "1"}}).out.find('\x1b'), std::string::npos);
  EXPECT_EQ(hodo_on_terminal(arguments, {{"TERM", "dumb"}}).out.find('\x1b'), std::string::npos);
}

// Fault: ESC, or U+009B that stands for ESC [, copied from a key, a value or the name of a file.
TEST(Program, WhatAFileSaysNeverDrivesTheTerminal) {
  const Folder folder;
  for (const std::string& control : {std::string("\x1b["), std::string("\xc2\x9b")}) {
    const std::string escaped = control == "\x1b[" ? "\\u001b[" : "\\u009b";
    const std::string key = "\"rope" + escaped + "31m\":1";
    const std::string named = folder.path(control + "31m.json");
    folder.file(control + "31m.json", R"({"model_type":"llama","head_dim":8,)" + key + "}");
    const std::string wrong = folder.file("wrong.json", R"({"model_type":"a)" + escaped + "31m\"}");
    for (const Outcome& outcome :
         {hodo({"inspect", named}), hodo({"inspect", named, wrong}), hodo({"inspect", wrong}),
          hodo({"table", wrong}), hodo({"table", "--spec", "{" + key + "}"}),
          hodo({"table", "--spec", R"({"method":"alibi","num_heads":1})", "--use", control})}) {
      EXPECT_NE(outcome.out + outcome.err, "");
      EXPECT_EQ(outcome.out.find(control), std::string::npos) << escaped;
      EXPECT_EQ(outcome.err.find(control), std::string::npos) << escaped;
    }
    // The key is shown, so there was something to escape.
    EXPECT_TRUE(has(hodo({"inspect", named}).out, control == "\x1b[" ? "\\x1b" : "\\x9b"));
  }
}

TEST(Program, CompletionScriptsKnowEveryVerbAndOption) {
  for (const std::string& kind : {std::string("bash"), std::string("zsh"), std::string("fish")}) {
    const Outcome outcome = hodo({"completion", kind});
    EXPECT_EQ(outcome.code, 0);
    for (const std::string& verb : verbs) EXPECT_TRUE(has(outcome.out, verb));
    EXPECT_TRUE(has(outcome.out, "key-positions"));
    EXPECT_TRUE(has(outcome.out, "bfloat16"));
  }
  const Outcome completed =
      shell(R"(source <("$HODO" completion bash); )"
            R"(COMP_WORDS=(hodo table --angles ''); COMP_CWORD=3; _hodo; echo "${COMPREPLY[*]}"; )"
            R"(COMP_WORDS=(hodo ins); COMP_CWORD=1; _hodo; echo "${COMPREPLY[*]}")");
  EXPECT_EQ(completed.err, "");
  EXPECT_EQ(completed.out, "exact float32\ninspect\n");
}

TEST(Program, ManualPageKnowsEveryVerb) {
  const Outcome outcome = hodo({"man"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with(".TH HODO 1"));
  for (const std::string& verb : verbs) EXPECT_TRUE(has(outcome.out, ".SS hodo " + verb));
}

// An option that some document names and that no longer exists does not do nothing.
TEST(Program, OptionsForScalingWorkOrAreRefused) {
  const Folder folder;
  const std::string plain = R"({"model_type":"llama","head_dim":128,"num_hidden_layers":1,
      "max_position_embeddings":4096)";
  const std::string path =
      folder.file("config.json", plain + R"(,"rope_scaling":{"type":"linear","factor":2.0}})");
  const Outcome refused = hodo({"table", path, "--rotary_scaling", "linear", "2.0"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "--rotary_scaling")) << refused.err;
  const auto first_pair = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.json()["uses"].at(0)["inv_freq"].at(0).get<double>();
  };
  EXPECT_EQ(first_pair(hodo({"table", "--json", path})), 0.5);
  EXPECT_EQ(first_pair(hodo({"table", "--json", folder.file("plain.json", plain + "}")})), 1.0);
}

}  // namespace
}  // namespace hodometer::cli::testing
