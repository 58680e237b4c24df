// What Hugging Face's own classes make of configs, against what from_hf_config makes of them.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "hodometer/base/json-inl.h"
#include "hodometer/models/from_hf_config.h"

namespace hodometer {
namespace {

Json read_golden(const std::string& name) {
  std::ifstream file(std::string(HODO_GOLDEN_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = parse_json(text.str(), name);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? *parsed : Json();
}

const RotatePairs* rotation(const std::vector<Action>& list) {
  for (const Action& action : list) {
    if (const auto* rotate = std::get_if<RotatePairs>(&action)) return rotate;
  }
  return nullptr;
}

double score_factor(const std::vector<Action>& list) {
  double factor = 1;
  for (const Action& action : list) {
    if (const auto* scale = std::get_if<LogitScale>(&action)) factor *= scale->at(0);
  }
  return factor;
}

bool is_text(const PositionUse& use) {
  return !std::holds_alternative<AxialRotary>(use.spec.method) && !use.name.starts_with("vision") &&
         !use.name.starts_with("audio");
}

/// What is wrong with one use of the golden file, or nothing.
std::string compare(const ModelPositions& model, const Json& golden) {
  const bool text = golden["part"] == "text";
  const std::string kind = golden.value("layer_type", "");
  std::string wrong;
  int compared = 0;
  for (const PositionUse& use : model.uses) {
    if (is_text(use) != text || use.name.ends_with("indexer")) continue;
    const auto made = actions(use.spec, 1);
    if (!made.ok()) return made.error().message;
    const RotatePairs* ours = rotation(*made);
    if (ours == nullptr) continue;
    const std::string alias = kind == "main"       ? "sliding_attention"
                              : kind == "compress" ? "compressed_attention"
                                                   : kind;
    if (!kind.empty() && use.name != alias && use.name != "attention") continue;
    ++compared;
    std::vector<double> inv_freq;
    for (const Real& value : ours->inv_freq) inv_freq.push_back(value.to_double());
    if (const auto* axial = std::get_if<AxialRotary>(&use.spec.method)) {
      // One axis; both where each has frequencies of its own.
      const size_t half = inv_freq.size() / 2;
      if (axial->axis_layout == AxisLayout::alternating_per_axis) {
        for (size_t i = 0; i < half; ++i) inv_freq[i] = inv_freq[2 * i];
        inv_freq.resize(half);
      } else if (axial->axis_layout == AxisLayout::blocks) {
        inv_freq.resize(half);
      }
    }
    if (inv_freq.size() != golden["pair_count"].get<size_t>()) {
      return fmt::format("{}: {} pairs, Hugging Face has {}", use.name, inv_freq.size(),
                         golden["pair_count"].get<size_t>());
    }
    for (size_t i = 0; i < golden["pairs"].size(); ++i) {
      const double theirs = golden["inv_freq"][i].get<double>();
      const double mine = inv_freq[golden["pairs"][i].get<size_t>()];
      if (std::fabs(mine - theirs) > 2e-6 * std::fabs(theirs) + 1e-30) {
        return fmt::format("{}: pair {} turns {}, in Hugging Face {}", use.name,
                           golden["pairs"][i].get<size_t>(), mine, theirs);
      }
    }
    // PhiMoE's class reports one factor and applies another.
    const Json applied = golden.value("applied_factor", golden["attention_factor"]);
    const double magnitude = applied.get<double>();
    if (std::fabs(ours->magnitude - magnitude) > 1e-6) {
      return fmt::format("{}: magnitude {}, in Hugging Face {}", use.name, ours->magnitude,
                         magnitude);
    }
    const Json layout = golden.value("layout", Json());
    if (text && layout.is_string() && layout != write_json(ours->layout)) {
      return fmt::format("{}: pairs {}, in Hugging Face {}", use.name,
                         write_json(ours->layout).dump(), layout.dump());
    }
    // Heads with a slice rotated at their end are the ones whose score has a factor of its own.
    if (ours->rotary_start > 0 && golden.contains("softmax_scale")) {
      const double theirs = golden["softmax_scale"].get<double>();
      const double scale = score_factor(*made) / std::sqrt(static_cast<double>(ours->head_dim));
      if (std::fabs(scale - theirs) > 1e-6 * theirs) {
        return fmt::format("{}: scores times {}, in Hugging Face {}", use.name, scale, theirs);
      }
    }
  }
  return compared == 0 ? "no use of ours matches " + golden["part"].dump() + " " + kind : wrong;
}

std::string compare_layers(const ModelPositions& model, const Json& golden) {
  for (const auto& [theirs, layers] : golden.items()) {
    // Layers that differ in nothing that concerns positions have one name here.
    std::string kind = theirs;
    if (kind == "indexed_attention" || kind == "hybrid") kind = "attention";
    if (kind == "compressed_sparse_attention") kind = "indexer";
    if (kind == "heavily_compressed_attention") continue;
    std::vector<int64_t> ours;
    for (const PositionUse& use : model.uses) {
      const bool same = use.name == kind || use.name.starts_with(kind + ".") ||
                        (kind == "full_attention" && use.name == "attention");
      if (same) ours.insert(ours.end(), use.layers.begin(), use.layers.end());
    }
    std::sort(ours.begin(), ours.end());
    if (ours != layers.get<std::vector<int64_t>>()) {
      return fmt::format("{} layers {}, in Hugging Face {}", kind, fmt::join(ours, " "),
                         layers.dump());
    }
  }
  return "";
}

TEST(Table, HasEveryModelTypeOnce) {
  const auto list = supported_models();
  EXPECT_GT(list.size(), 300u);
  for (size_t i = 1; i < list.size(); ++i) {
    EXPECT_NE(list[i - 1].model_type, list[i].model_type);
  }
}

class HfGolden : public testing::TestWithParam<const char*> {};

TEST_P(HfGolden, AgreesOrTheReasonIsKnown) {
  const Json golden = read_golden("hf_models.json");
  const Json reasons = read_golden("configs/hf_disagreements.json")[GetParam()];
  std::set<std::string> known;
  for (const SupportedModel& supported : supported_models()) known.insert(supported.model_type);
  int agreed = 0;
  for (const Json& entry : golden[GetParam()]) {
    const std::string name = entry["name"].get<std::string>();
    SCOPED_TRACE(name);
    const std::string model_type = entry["config"]["model_type"].get<std::string>();
    if (!known.contains(model_type)) continue;
    const auto model = from_hf_config(entry["config"].dump());
    std::string wrong = model.ok() ? "" : "refused: " + model.error().message;
    if (model.ok() && entry.contains("error")) wrong = "Hugging Face refuses it";
    if (model.ok() && entry.contains("uses")) {
      for (const Json& use : entry["uses"]) {
        if (wrong.empty()) wrong = compare(*model, use);
      }
    }
    if (model.ok() && wrong.empty() && entry.contains("layer_types")) {
      wrong = compare_layers(*model, entry["layer_types"]);
    }
    if (reasons.contains(name)) {
      EXPECT_FALSE(wrong.empty()) << "agrees now: drop the reason";
    } else {
      EXPECT_TRUE(wrong.empty()) << wrong;
      ++agreed;
    }
  }
  EXPECT_GT(agreed, 100);
}

INSTANTIATE_TEST_SUITE_P(All, HfGolden, testing::Values("models", "saved_defaults"));

}  // namespace
}  // namespace hodometer
