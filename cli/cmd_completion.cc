#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/usage.h"

namespace hodometer::cli {
namespace {

// Text inside single quotes of a shell.
std::string single_quoted(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

// zsh reads brackets and colons of a description as its own.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : single_quoted(text)) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c;
  }
  return result;
}

std::string all_names(const VerbUsage& verb) {
  std::vector<std::string> names;
  for (const OptionUsage& option : verb.options) {
    if (!option.argument) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_script(const std::vector<VerbUsage>& verbs) {
  std::string names;
  std::string cases;
  for (const VerbUsage& verb : verbs) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", verb.command.name);
    std::string values;
    std::vector<std::string> words;
    bool paths = false;
    for (const OptionUsage& option : verb.options) {
      if (option.argument) {
        words.insert(words.end(), option.words.begin(), option.words.end());
        paths = paths || option.takes_path();
      } else if (!option.words.empty()) {
        values +=
            fmt::format("        {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                        fmt::join(option.names, "|"), fmt::join(option.words, " "));
      } else if (option.takes_path()) {
        values += fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n",
                              fmt::join(option.names, "|"));
      } else if (!option.value.empty()) {
        values += fmt::format("        {}) return ;;\n", fmt::join(option.names, "|"));
      }
    }
    cases += fmt::format("    {})\n", verb.command.name);
    if (!values.empty()) cases += "      case $before in\n" + values + "      esac\n";
    cases += fmt::format("      words='{}' options='{}' paths={} ;;\n", fmt::join(words, " "),
                         all_names(verb), paths ? "yes" : "");
  }
  return fmt::format(R"(# bash completion of hodo
_hodo() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local words='' options='' paths=''
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $paths ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}}
complete -o filenames -F _hodo hodo
)",
                     names, cases);
}

std::string zsh_action(const OptionUsage& option) {
  if (!option.words.empty()) return fmt::format("({})", fmt::join(option.words, " "));
  return option.takes_path() ? "_files" : "";
}

std::string zsh_script(const std::vector<VerbUsage>& verbs) {
  std::string names;
  std::string cases;
  for (const VerbUsage& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.command.name, zsh_text(verb.command.summary));
    cases += fmt::format("    {}) _arguments", verb.command.name);
    for (const OptionUsage& option : verb.options) {
      if (option.argument) {
        cases += fmt::format(" \\\n      '{}:{}:{}'", option.repeated ? "*" : "",
                             zsh_text(option.names.front()), zsh_action(option));
        continue;
      }
      for (const std::string& name : option.names) {
        cases += fmt::format(" \\\n      '{}[{}]", name, zsh_text(option.meaning));
        if (!option.value.empty()) cases += fmt::format(":value:{}", zsh_action(option));
        cases += "'";
      }
    }
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef hodo
_hodo() {{
  local -a verbs
  verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command verbs
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
compdef _hodo hodo
)",
                     names, cases);
}

std::string fish_script(const std::vector<VerbUsage>& verbs) {
  std::string text = "# fish completion of hodo\ncomplete -c hodo -f\n";
  for (const VerbUsage& verb : verbs) {
    text += fmt::format("complete -c hodo -n __fish_use_subcommand -a {} -d '{}'\n",
                        verb.command.name, single_quoted(verb.command.summary));
    for (const OptionUsage& option : verb.options) {
      std::string line =
          fmt::format("complete -c hodo -n '__fish_seen_subcommand_from {}'", verb.command.name);
      if (!option.argument) {
        for (const std::string& name : option.names) {
          const bool is_long = name.starts_with("--");
          line += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
        }
        line += fmt::format(" -d '{}'", single_quoted(option.meaning));
        if (!option.value.empty()) line += " -r";
      }
      if (!option.words.empty()) line += fmt::format(" -a '{}'", fmt::join(option.words, " "));
      if (option.takes_path()) line += " -F";
      text += line + "\n";
    }
  }
  return text;
}

using Writer = std::string (*)(const std::vector<VerbUsage>&);
struct Shell {
  std::string_view name;
  Writer write;
};
constexpr Shell shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

ExitCode run(const std::string& shell, Console& console) {
  const Program program = make_program();
  for (const Shell& one : shells) {
    if (one.name != shell) continue;
    const Status status = console.write(one.write(usage_of(*program.app)));
    if (!status.ok()) return report(console, "completion", status.error());
  }
  return ExitCode::ok;
}

Command::Action set_up(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Shell& one : shells) names.emplace_back(one.name);
  limit_to(app.add_option("SHELL", *shell, "Shell to write the script for")->required(), names);
  return [shell](Console& console) { return run(*shell, console); };
}

const Registration completion({.name = "completion",
                               .section = Section::shell,
                               .summary = "Write the script that completes hodo's commands",
                               .example = "source <(hodo completion bash)",
                               .details = "",
                               .set_up = set_up});

}  // namespace
}  // namespace hodometer::cli
