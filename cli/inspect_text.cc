#include "cli/inspect_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/number_text.h"
#include "cli/text_table.h"
#include "cli/usage.h"
#include "hodometer/base/json-inl.h"

namespace hodometer::cli {
namespace {

template <class Enum>
std::string name_of(Enum value) {
  return write_json(value).template get<std::string>();
}

std::string method_text(const UseReport& use) {
  if (!use.schedule || *use.schedule == "default") return use.method;
  return fmt::format("{} {}", use.method, *use.schedule);
}

std::string mask_text(const UseReport& use) {
  const std::string name = name_of(use.mask);
  return use.mask_size ? fmt::format("{}, {} positions", name, grouped(*use.mask_size)) : name;
}

std::string layout_text(const PairsReport& pairs) {
  std::string text = name_of(pairs.layout);
  if (pairs.first_pairs.empty()) return text;
  text += ": lanes";
  for (const auto& [x, y] : pairs.first_pairs) text += fmt::format(" ({},{})", x, y);
  if (pairs.num_pairs > std::ssize(pairs.first_pairs)) text += " ...";
  return text + " turn together";
}

std::string turning_text(const PairsReport& pairs) {
  if (pairs.rotary_dim == 0) return fmt::format("none of {} lanes", pairs.head_dim);
  return fmt::format("{}-{} of {} lanes ({} pairs)", pairs.rotary_start,
                     pairs.rotary_start + pairs.rotary_dim - 1, pairs.head_dim, pairs.num_pairs);
}

std::string waves_text(const std::optional<double>& shortest,
                       const std::optional<double>& longest) {
  if (!shortest || !longest) return "nothing turns";
  return fmt::format("{} to {} positions", wavelength_text(*shortest), wavelength_text(*longest));
}

/// The lines of one use: a name and what there is to say.
class Lines {
 public:
  explicit Lines(const Console& console) : console_(console) {}

  void add(std::string_view name, std::string_view text, Style style = Style::plain) {
    constexpr size_t name_width = 18;
    const size_t indent = 2 + name_width;
    const auto width = static_cast<size_t>(std::min(console_.columns(), 100));
    std::string right = wrapped(printable(text), indent, width);
    right.erase(0, indent);
    // Every line is styled by itself, so that a broken pipe leaves no colour behind.
    text_ += fmt::format("  {}{}",
                         console_.styled(Style::faint, fmt::format("{:<{}}", name, name_width)),
                         style == Style::plain ? right : styled_lines(style, right));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string styled_lines(Style style, const std::string& text) const {
    std::string result;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      result += console_.styled(style, text.substr(begin, end - begin)) + "\n";
      begin = end + 1;
    }
    return result;
  }

  const Console& console_;
  std::string text_;
};

void add_pairs(const UseReport& use, Lines& lines) {
  if (!use.pairs) return;
  const PairsReport& pairs = *use.pairs;
  lines.add("pair layout", layout_text(pairs));
  if (!pairs.layout_reason.empty()) lines.add("", pairs.layout_reason, Style::faint);
  lines.add("lanes that turn", turning_text(pairs));
  if (pairs.num_axes > 1) lines.add("axes", fmt::format("{} numbers per position", pairs.num_axes));
  lines.add("wavelengths", waves_text(pairs.shortest_wavelength, pairs.longest_wavelength));
  if (pairs.still_pairs > 0) {
    lines.add("still pairs",
              fmt::format("{} of {} never turn", pairs.still_pairs, pairs.num_pairs));
  }
  if (pairs.incomplete_pairs) {
    lines.add("incomplete turns",
              fmt::format("{} of {} pairs complete no turn within {} positions",
                          *pairs.incomplete_pairs, pairs.num_pairs, grouped(*use.trained_length)));
  }
  lines.add("attention factor",
            factor_text(pairs.attention_factor) +
                (pairs.attention_factor == 1 ? "" : " (multiplies cos and sin)"));
  if (!pairs.changes_beyond) return;
  lines.add(
      "changes with length",
      fmt::format("the frequencies change beyond {} positions", grouped(*pairs.changes_beyond)),
      Style::caution);
  for (const LengthReport& at : pairs.by_length) {
    lines.add(
        "", fmt::format("at {}: longest wavelength {}, attention factor {}", grouped(at.length),
                        wavelength_text(at.longest_wavelength), factor_text(at.attention_factor)));
  }
}

void add_rows(const RowsReport& rows, Lines& lines) {
  if (rows.num_rows) {
    lines.add("learned rows", fmt::format("{} of {} values, position 0 in row {}",
                                          grouped(*rows.num_rows), rows.dim, rows.offset));
    return;
  }
  lines.add("rows", fmt::format("{} values, position 0 is row {}", rows.dim, rows.offset));
  lines.add("wavelengths", waves_text(rows.shortest_wavelength, rows.longest_wavelength));
}

void add_bias(const BiasReport& bias, Lines& lines) {
  if (!bias.slopes.empty()) {
    lines.add("slopes",
              fmt::format("{} heads: {} to {}", bias.num_heads,
                          factor_text(*std::max_element(bias.slopes.begin(), bias.slopes.end())),
                          factor_text(*std::min_element(bias.slopes.begin(), bias.slopes.end()))));
  }
  if (bias.num_buckets) {
    lines.add("buckets", fmt::format("{} for {} heads", *bias.num_buckets, bias.num_heads));
  }
  if (bias.last_bucket_from) {
    lines.add("last bucket", fmt::format("from distance {} on", grouped(*bias.last_bucket_from)));
  }
  if (bias.left && bias.right) {
    lines.add("clipped at", fmt::format("{} left and {} right of the query", grouped(*bias.left),
                                        grouped(*bias.right)));
  }
}

std::string parameters_text(const UseReport& use, const Console& console) {
  TextTable table(
      {{"parameter", Align::left, 16}, {"value", Align::left, 16}, {"from", Align::left, 24}});
  for (const ParameterReport& one : use.parameters) {
    TextTable::Cell from(one.source);
    if (one.origin == Origin::architecture) from.style = Style::faint;
    if (one.origin == Origin::assumed) {
      from = TextTable::Cell(fmt::format("ASSUMED: {}", one.source), Style::caution);
    }
    table.add({one.name, one.value, from});
  }
  return table.empty() ? "" : table.aligned_text(console, 2);
}

std::string use_text(const UseReport& use, const Console& console) {
  std::string text = console.styled(Style::heading, printable(use.name));
  Lines lines(console);
  if (!use.layers.empty()) {
    lines.add("layers", fmt::format("{} ({})", layers_text(use.layers), use.layers.size()));
  }
  lines.add("method", method_text(use));
  add_pairs(use, lines);
  if (use.rows) add_rows(*use.rows, lines);
  if (use.bias) add_bias(*use.bias, lines);
  if (use.softmax_factor != 1) {
    lines.add("softmax factor", factor_text(use.softmax_factor) + " (multiplies every score)");
  }
  for (const LogitScaleReport& at : use.logit_scale) {
    lines.add(&at == &use.logit_scale.front() ? "score factor" : "",
              fmt::format("{} at position {}", factor_text(at.factor), grouped(at.position)));
  }
  lines.add("mask", mask_text(use));
  if (use.trained_length) lines.add("trained length", grouped(*use.trained_length));
  lines.add("longest input", use.longest_input ? grouped(*use.longest_input)
                                               : std::string("the file sets no limit"));
  text += "\n";
  text += lines.take();
  if (!use.parameters.empty()) text += "\n";
  return text + parameters_text(use, console);
}

/// Names that tell the files of one call apart: the file's, its folder's for a config.json, or the
/// whole path where those are not enough.
std::vector<std::string> short_names(const std::vector<Inspected>& models) {
  std::vector<std::string> names;
  for (const Inspected& model : models) {
    std::filesystem::path path = std::filesystem::path(model.path).lexically_normal();
    if (path.filename().empty() || path.filename() == "config.json") path = path.parent_path();
    std::string name = path.filename().string();
    if (name.ends_with(".json")) name.resize(name.size() - 5);
    names.push_back(name.empty() ? model.path : name);
  }
  std::vector<std::string> result = names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) result[i] = models[i].path;
  }
  return result;
}

/// "8192>131072": trained length and longest input, where the two differ.
std::string lengths_text(const UseReport& use) {
  const auto text = [](const std::optional<int64_t>& length) {
    return length ? fmt::format("{}", *length) : std::string("?");
  };
  if (!use.trained_length || use.trained_length == use.longest_input) {
    return use.longest_input ? text(use.longest_input) : "";
  }
  return text(use.trained_length) + ">" + text(use.longest_input);
}

/// The numbers that tell uses of a method apart.
std::string detail_text(const UseReport& use) {
  std::vector<std::string> parts;
  if (use.pairs && use.pairs->longest_wavelength) {
    parts.push_back(fmt::format("waves to {:.3g}", *use.pairs->longest_wavelength));
  }
  if (use.pairs && use.pairs->attention_factor != 1) {
    parts.push_back(fmt::format("x{:.4g}", use.pairs->attention_factor));
  }
  if (use.rows) {
    parts.push_back(use.rows->num_rows ? fmt::format("{} rows", *use.rows->num_rows)
                                       : fmt::format("dim {}", use.rows->dim));
    if (use.rows->offset != 0) parts.push_back(fmt::format("offset {}", use.rows->offset));
  }
  if (use.bias && !use.bias->slopes.empty()) {
    parts.push_back(fmt::format("{} slopes", use.bias->slopes.size()));
  }
  if (use.bias && use.bias->num_buckets) {
    parts.push_back(fmt::format("{} buckets", *use.bias->num_buckets));
  }
  if (use.softmax_factor != 1) parts.push_back(fmt::format("softmax x{:.4g}", use.softmax_factor));
  if (!use.logit_scale.empty()) parts.push_back("score factor");
  if (use.mask_size) {
    parts.push_back(
        fmt::format("{} {}", use.mask == MaskKind::chunked ? "chunk" : "window", *use.mask_size));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string pairs_text(const UseReport& use) {
  if (!use.pairs) return "";
  return fmt::format("{} {}/{}", name_of(use.pairs->layout), use.pairs->rotary_dim,
                     use.pairs->head_dim);
}

/// How much of a report is assumed or doubtful; empty when nothing is.
std::string doubts_text(const ModelReport& report) {
  int64_t assumed = 0;
  for (const UseReport& use : report.uses) {
    assumed +=
        std::count_if(use.parameters.begin(), use.parameters.end(),
                      [](const ParameterReport& one) { return one.origin == Origin::assumed; });
  }
  std::vector<std::string> parts;
  if (assumed > 0) parts.push_back(fmt::format("{} assumed", assumed));
  if (!report.warnings.empty()) parts.push_back(fmt::format("{} warned", report.warnings.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A terminal has little room: "sliding" for sliding_attention, 52 for a list of 52 layers.
std::string narrow_use_name(const std::string& name) {
  constexpr std::string_view ending = "_attention";
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

std::string narrow_layers(const std::vector<int64_t>& layers) {
  const std::string text = layers_text(layers);
  return text.size() <= 6 ? text : fmt::format("{} layers", layers.size());
}

}  // namespace

std::string report_text(const Inspected& model, const Console& console) {
  const ModelReport& report = *model.report;
  std::string text = console.styled(Style::heading, printable(report.model_type));
  if (report.num_layers) text += fmt::format(", {} layers", *report.num_layers);
  text += fmt::format("  {}\n", console.styled(Style::faint, printable(model.path)));
  for (const UseReport& use : report.uses) {
    text += "\n";
    text += use_text(use, console);
  }
  if (report.uses.empty()) text += "\nno position method\n";
  if (!report.warnings.empty()) text += "\n";
  for (const std::string& warning : report.warnings) {
    Lines lines(console);
    lines.add("warning", warning, Style::caution);
    text += lines.take();
  }
  return text;
}

std::string comparison_text(const std::vector<Inspected>& models, const Console& console) {
  TextTable table({{"model", Align::left, 12},
                   {"use", Align::left, 8},
                   {"layers", Align::left, 6},
                   {"method", Align::left, 12},
                   {"pairs", Align::left, 12},
                   {"numbers", Align::left, 12},
                   {"longest input", Align::right},
                   {"doubts", Align::left, 8}});
  const bool narrow = console.terminal();
  const std::vector<std::string> names = short_names(models);
  for (size_t i = 0; i < models.size(); ++i) {
    const Result<ModelReport>& report = models[i].report;
    if (!report.ok()) {
      table.add({names[i], TextTable::Cell("error", Style::bad),
                 TextTable::Cell::rest_of_line(report.error().message, Style::bad)});
      continue;
    }
    for (const UseReport& use : report->uses) {
      const bool first = &use == &report->uses.front();
      table.add({first || !narrow ? names[i] : "", narrow ? narrow_use_name(use.name) : use.name,
                 narrow ? narrow_layers(use.layers) : layers_text(use.layers), method_text(use),
                 pairs_text(use), detail_text(use), lengths_text(use),
                 TextTable::Cell(first ? doubts_text(*report) : "", Style::caution)});
    }
    if (report->uses.empty()) table.add({names[i], "", "", "none"});
  }
  return table.text(console);
}

}  // namespace hodometer::cli
