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
  return fmt::format("{}, {}", use.method, *use.schedule);
}

std::string mask_text(const UseReport& use) {
  const std::string name = name_of(use.mask);
  return use.mask_size ? fmt::format("{}, {} positions", name, grouped(*use.mask_size)) : name;
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
  const int64_t partner = pairs.layout == PairLayout::half_split ? pairs.num_pairs : 1;
  std::string layout = name_of(pairs.layout);
  if (pairs.num_pairs > 0) {
    const int64_t step = pairs.layout == PairLayout::half_split ? 1 : 2;
    layout += fmt::format(": lanes ({},{}) ({},{}) ... turn together", pairs.rotary_start,
                          pairs.rotary_start + partner, pairs.rotary_start + step,
                          pairs.rotary_start + step + partner);
  }
  lines.add("pair layout", layout);
  if (!pairs.layout_reason.empty())
    lines.add("", "known from " + pairs.layout_reason, Style::faint);
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
      {{"parameter", Align::left, 12}, {"value", Align::left, 12}, {"from", Align::left, 20}});
  for (const ParameterReport& one : use.parameters) {
    const bool assumed = one.origin == Origin::assumed;
    std::string from = one.source;
    if (assumed) from = fmt::format("ASSUMED: {}", from);
    if (one.origin == Origin::architecture) from = fmt::format("known: {}", from);
    table.add({one.name, one.value,
               TextTable::Cell(from, assumed                      ? Style::caution
                                     : one.origin == Origin::file ? Style::plain
                                                                  : Style::faint)});
  }
  return table.empty() ? "" : table.text(console, 2);
}

std::string use_text(const UseReport& use, const Console& console) {
  std::string text = console.styled(Style::heading, printable(use.name));
  if (!use.layers.empty()) {
    text += use.layers.size() == 1 ? "  layer " : "  layers ";
    text += layers_text(use.layers);
  }
  Lines lines(console);
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
  return text + "\n" + lines.take() + parameters_text(use, console);
}

/// Names that tell the files of one call apart: the file's, its folder's for a config.json, or the
/// whole path where those are not enough.
std::vector<std::string> short_names(const std::vector<Inspected>& models) {
  std::vector<std::string> names;
  for (const Inspected& model : models) {
    const std::filesystem::path path = std::filesystem::path(model.path).lexically_normal();
    std::string name = (path.extension() == ".json" ? path.stem() : path.filename()).string();
    if (path.filename() == "config.json" && path.has_parent_path()) {
      name = path.parent_path().filename().string();
    } else if (path.filename().empty() && path.has_parent_path()) {
      name = path.parent_path().filename().string();
    }
    names.push_back(name.empty() ? model.path : name);
  }
  std::vector<std::string> result = names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) > 1) result[i] = models[i].path;
  }
  return result;
}

std::string lengths_text(const UseReport& use, const Console& console) {
  const auto text = [&](int64_t length) {
    return console.terminal() ? grouped(length) : fmt::format("{}", length);
  };
  const std::string longest = use.longest_input ? text(*use.longest_input) : "";
  if (!use.trained_length || use.trained_length == use.longest_input) return longest;
  return text(*use.trained_length) + " > " + (longest.empty() ? "?" : longest);
}

/// The one number or pair of numbers that tells uses of a method apart.
std::string detail_text(const UseReport& use) {
  std::vector<std::string> parts;
  if (use.pairs) {
    const PairsReport& pairs = *use.pairs;
    parts.push_back(fmt::format("{}/{}", pairs.rotary_dim, pairs.head_dim));
    if (pairs.longest_wavelength) {
      parts.push_back(fmt::format("waves to {}", wavelength_text(*pairs.longest_wavelength)));
    }
    if (pairs.attention_factor != 1)
      parts.push_back(fmt::format("x{}", factor_text(pairs.attention_factor)));
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
  if (use.softmax_factor != 1)
    parts.push_back(fmt::format("softmax x{}", factor_text(use.softmax_factor)));
  if (!use.logit_scale.empty()) parts.push_back("score factor");
  if (use.mask_size) {
    parts.push_back(
        fmt::format("{} {}", use.mask == MaskKind::chunked ? "chunk" : "window", *use.mask_size));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string notes_text(const ModelReport& report, const UseReport& use) {
  const auto assumed =
      std::count_if(use.parameters.begin(), use.parameters.end(),
                    [](const ParameterReport& one) { return one.origin == Origin::assumed; });
  std::vector<std::string> parts;
  if (assumed > 0) parts.push_back(fmt::format("{} assumed", assumed));
  if (!report.warnings.empty() && &use == &report.uses.front()) {
    parts.push_back(fmt::format("{} warning{}", report.warnings.size(),
                                report.warnings.size() == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
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
                   {"method", Align::left, 10},
                   {"pairs", Align::left, 4},
                   {"numbers", Align::left, 12},
                   {"longest input", Align::right, 8},
                   {"notes", Align::left, 7}});
  const std::vector<std::string> names = short_names(models);
  for (size_t i = 0; i < models.size(); ++i) {
    const Result<ModelReport>& report = models[i].report;
    if (!report.ok()) {
      table.add({names[i], TextTable::Cell("error", Style::bad), "", "", "",
                 TextTable::Cell(report.error().message, Style::bad)});
      continue;
    }
    for (const UseReport& use : report->uses) {
      table.add({names[i], use.name, layers_text(use.layers), method_text(use),
                 use.pairs ? name_of(use.pairs->layout) : "", detail_text(use),
                 lengths_text(use, console),
                 TextTable::Cell(notes_text(*report, use), Style::caution)});
    }
    if (report->uses.empty()) table.add({names[i], "", "", "none"});
  }
  return table.text(console);
}

}  // namespace hodometer::cli
