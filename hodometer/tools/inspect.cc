#include "hodometer/tools/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "hodometer/base/json-inl.h"
#include "hodometer/methods/action.h"
#include "hodometer/plan/plan.h"
#include "hodometer/tools/numbers.h"

namespace hodometer {
namespace {

/// Every position that there is.
constexpr int64_t max_length = max_position + 1;

struct Waves {
  std::optional<double> shortest;
  std::optional<double> longest;
};

/// Of what turns at all.
Waves waves(const std::vector<double>& wavelengths) {
  Waves result;
  for (const double one : wavelengths) {
    if (std::isinf(one)) continue;
    result.shortest = std::min(result.shortest.value_or(one), one);
    result.longest = std::max(result.longest.value_or(one), one);
  }
  return result;
}

Result<MethodNumbers> numbers_at(const PositionSpec& spec, int64_t length) {
  NumbersRequest request;
  request.context_length = length;
  return method_numbers(spec, request);
}

/// A schedule that looks at the length: just before it changes, and as far as the model goes (twice
/// as far where the file does not say more). Lengths that no position reaches are left out.
Status add_lengths(const PositionUse& use, PairsReport& pairs) {
  const FrequencySchedule* schedule = frequency_schedule(use.spec);
  if (schedule != nullptr) pairs.changes_beyond = changes_beyond(*schedule);
  if (!pairs.changes_beyond) return {};
  const int64_t edge = *pairs.changes_beyond;
  if (edge > max_length) return {};
  const int64_t far =
      use.longest_input && *use.longest_input > edge ? *use.longest_input : 2 * edge;
  std::vector<int64_t> lengths = {edge};
  if (edge < max_length) lengths.push_back(std::min(far, max_length));
  for (const int64_t length : lengths) {
    HODO_ASSIGN(const MethodNumbers numbers, numbers_at(use.spec, length));
    const double factor = numbers.pairs ? numbers.pairs->attention_factor : 1;
    pairs.by_length.push_back({length, factor, waves(numbers.wavelength).longest.value_or(0)});
  }
  return {};
}

Status add_pairs(const PositionUse& use, const MethodNumbers& numbers, UseReport& report) {
  if (!numbers.pairs) return {};
  PairsReport pairs;
  pairs.layout = numbers.pairs->layout;
  pairs.layout_reason = use.layout_reason;
  pairs.head_dim = numbers.pairs->head_dim;
  pairs.rotary_dim = numbers.pairs->rotary_dim;
  pairs.rotary_start = numbers.pairs->rotary_start;
  pairs.num_pairs = static_cast<int64_t>(numbers.inv_freq.size());
  const auto& lanes = numbers.pairs->lanes;
  pairs.first_pairs.assign(lanes.begin(),
                           lanes.begin() + std::min<ptrdiff_t>(2, std::ssize(lanes)));
  pairs.num_axes = numbers.pairs->num_axes;
  pairs.attention_factor = numbers.pairs->attention_factor;
  const Waves range = waves(numbers.wavelength);
  pairs.shortest_wavelength = range.shortest;
  pairs.longest_wavelength = range.longest;
  pairs.still_pairs = std::count(numbers.inv_freq.begin(), numbers.inv_freq.end(), 0.0);
  if (use.trained_length) {
    const auto length = static_cast<double>(*use.trained_length);
    pairs.incomplete_pairs = std::count_if(numbers.wavelength.begin(), numbers.wavelength.end(),
                                           [&](double one) { return one > length; });
  }
  HODO_RETURN_IF_ERROR(add_lengths(use, pairs));
  report.pairs = std::move(pairs);
  return {};
}

void add_action(const AddRow& row, const MethodNumbers& numbers, UseReport& report) {
  const Waves range = waves(numbers.wavelength);
  report.rows = RowsReport{row.dim, row.offset, row.num_rows, range.shortest, range.longest};
}

void add_action(const DistanceBias& bias, const MethodNumbers&, UseReport& report) {
  BiasReport result;
  result.num_heads = bias.num_heads;
  result.slopes = bias.slopes;
  if (bias.slopes.empty()) {
    result.num_buckets = bias.num_buckets();
    if (!bias.bucket_starts.empty()) result.last_bucket_from = bias.bucket_starts.back();
  }
  report.bias = std::move(result);
}

void add_action(const QueryTableBias& bias, const MethodNumbers&, UseReport& report) {
  BiasReport result;
  result.left = bias.left;
  result.right = bias.right;
  report.bias = std::move(result);
}

// Told by add_pairs and add_logit_scales, which look at all of a kind together.
void add_action(const RotatePairs&, const MethodNumbers&, UseReport&) {}
void add_action(const LogitScale&, const MethodNumbers&, UseReport&) {}

/// The factor at the ends of what the model was trained on and of what it takes.
Status add_logit_scales(const PositionUse& use, UseReport& report) {
  NumbersRequest request;
  request.context_length = report_length(use);
  std::vector<int64_t> positions = {0};
  for (const std::optional<int64_t>& length : {use.trained_length, use.longest_input}) {
    if (length && *length > positions.back() + 1) positions.push_back(*length - 1);
  }
  HODO_ASSIGN(const Plan plan, make_plan(use.spec, *request.context_length));
  const auto varies = [](const LogitScale& scale) {
    return scale.beta != 0 || scale.log_n_trained != 0;
  };
  if (std::none_of(plan.logit_scales.begin(), plan.logit_scales.end(), varies)) return {};
  for (const int64_t position : positions) {
    report.logit_scale.push_back({position, plan.logit_scale_at(position)});
  }
  return {};
}

std::optional<std::string> schedule_name(const PositionSpec& spec) {
  const FrequencySchedule* schedule = frequency_schedule(spec);
  if (schedule == nullptr) return std::nullopt;
  return std::visit([](const auto& rule) { return std::string(rule.name); }, *schedule);
}

Result<UseReport> inspect_use(const PositionUse& use) {
  UseReport report;
  report.name = use.name;
  report.layers = use.layers;
  report.method = method_name(use.spec);
  report.schedule = schedule_name(use.spec);
  report.mask = use.mask;
  report.mask_size = use.mask_size;
  report.trained_length = use.trained_length;
  report.longest_input = use.longest_input;
  report.spec = spec_text(use.spec);
  for (const Setting& setting : use.settings) {
    report.parameters.push_back({setting.name, setting.value, setting.origin, setting.source});
  }
  HODO_ASSIGN(const MethodNumbers numbers, numbers_at(use.spec, report_length(use)));
  HODO_RETURN_IF_ERROR(add_pairs(use, numbers, report));
  HODO_ASSIGN(const std::vector<Action> list, actions(use.spec, report_length(use)));
  for (const Action& action : list) {
    std::visit([&](const auto& one) { add_action(one, numbers, report); }, action);
  }
  report.softmax_factor = numbers.softmax_factor;
  HODO_RETURN_IF_ERROR(add_logit_scales(use, report));
  return report;
}

}  // namespace

int64_t report_length(const PositionUse& use) {
  return std::clamp<int64_t>(use.trained_length.value_or(1), 1, max_length);
}

Result<ModelReport> inspect(const ModelPositions& model) {
  ModelReport report{model.model_type, model.num_layers, {}, model.warnings};
  for (const PositionUse& use : model.uses) {
    Result<UseReport> one = inspect_use(use);
    if (!one.ok()) return Error{one.error().kind, use.name + ": " + one.error().message};
    report.uses.push_back(std::move(one).value());
    if (use.trained_length.value_or(1) > max_length) {
      report.warnings.push_back(fmt::format(
          "{}: the trained length {} is beyond the last position: numbers are those at length {}",
          use.name, *use.trained_length, max_length));
    }
  }
  return report;
}

std::string report_json(const ModelReport& report) {
  Json json = write_json(report);
  for (size_t i = 0; i < report.uses.size(); ++i) {
    json["uses"][i]["spec"] = Json::parse(report.uses[i].spec, nullptr, false);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string layers_text(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", layers[i]);
    if (end - i > 1) text += fmt::format("-{}", layers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace hodometer
