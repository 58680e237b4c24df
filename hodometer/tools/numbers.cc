#include "hodometer/tools/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

#include "hodometer/ops/add_rows.h"
#include "hodometer/ops/bias_rows.h"
#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/make_table.h"

namespace hodometer {
namespace {

constexpr int64_t max_numbers = int64_t{1} << 24;

/// The positions of a request in one piece, [axes, length], and how operations see them.
class Positions {
 public:
  explicit Positions(const NumbersRequest& request)
      : axes_(static_cast<int64_t>(request.positions.size())),
        length_(axes_ == 0 ? 0 : static_cast<int64_t>(request.positions.front().size())) {
    for (const auto& list : request.positions) ids_.insert(ids_.end(), list.begin(), list.end());
  }

  int64_t length() const { return length_; }
  int64_t axes() const { return axes_; }
  /// Those of the first axis.
  std::span<const int64_t> first() const {
    return std::span(ids_).first(static_cast<size_t>(length_));
  }
  int64_t largest() const { return ids_.empty() ? 0 : *std::max_element(ids_.begin(), ids_.end()); }
  PositionView view(int64_t num_axes) const {
    if (axes_ == 1) return PositionView::shared_ids(ids_).same_on_axes(num_axes);
    return PositionView::axes(ids_.data(), axes_, 1, length_);
  }

 private:
  int64_t axes_;
  int64_t length_;
  std::vector<int64_t> ids_ = {};
};

Status check_count(int64_t length, int64_t width) {
  if (width == 0 || length <= max_numbers / width) return {};
  return Error{ErrorKind::usage, fmt::format("{} positions of {} numbers each: expected at most {} "
                                             "numbers; ask for fewer positions",
                                             length, width, max_numbers)};
}

void describe_pairs(const Plan& plan, MethodNumbers& numbers) {
  PairNumbers& pairs = numbers.pairs.emplace();
  const RotationPlan& first = plan.rotations.front();
  pairs.layout = first.layout;
  pairs.head_dim = first.head_dim;
  pairs.rotary_start = first.rotary_start;
  pairs.num_axes = first.num_axes;
  pairs.attention_factor = first.magnitude;
  for (const RotationPlan& rotation : plan.rotations) {
    pairs.rotary_dim += rotation.rotary_dim;
    const bool halves = rotation.layout == PairLayout::half_split;
    for (int64_t i = 0; i < rotation.num_pairs(); ++i) {
      const int64_t x = rotation.rotary_start + (halves ? i : 2 * i);
      pairs.lanes.push_back({x, x + (halves ? rotation.num_pairs() : 1)});
      if (rotation.num_axes > 1) {
        pairs.axis.push_back(rotation.axis.empty() ? 0 : rotation.axis[static_cast<size_t>(i)]);
      }
    }
  }
}

/// Of every pair or sinusoid, in the order of the actions.
void add_frequencies(const std::vector<Action>& list, AngleMode mode, MethodNumbers& numbers) {
  const auto add = [&](const std::vector<Real>& inv_freq) {
    for (const Real& one : inv_freq) {
      const double exact = one.to_double();
      numbers.inv_freq.push_back(mode == AngleMode::exact ? exact
                                                          : double{static_cast<float>(exact)});
      numbers.wavelength.push_back(wavelength(numbers.inv_freq.back()));
    }
  };
  for (const Action& action : list) {
    if (const auto* rotation = std::get_if<RotatePairs>(&action)) add(rotation->inv_freq);
    const auto* row = std::get_if<AddRow>(&action);
    if (row != nullptr && row->sinusoid) add(row->sinusoid->inv_freq);
  }
}

Status add_rotations(const Plan& plan, const Positions& positions, HeadRole role,
                     MethodNumbers& numbers) {
  describe_pairs(plan, numbers);
  const int64_t pairs = table_pairs(plan);
  HODO_RETURN_IF_ERROR(check_count(positions.length(), 2 * pairs));
  if (positions.length() == 0) return {};
  const PositionView view = positions.view(plan.num_axes());
  if (plan.angle_mode == AngleMode::exact) {
    HODO_ASSIGN(ExactTable table, exact_table(plan, view, positions.length(), role));
    numbers.cos = std::move(table.cos);
    numbers.sin = std::move(table.sin);
    return {};
  }
  std::vector<float> cos(static_cast<size_t>(positions.length() * pairs));
  std::vector<float> sin(cos.size());
  HODO_RETURN_IF_ERROR(make_table(plan, view, positions.length(), cos, sin, role));
  numbers.cos.assign(cos.begin(), cos.end());
  numbers.sin.assign(sin.begin(), sin.end());
  return {};
}

/// The row of a sinusoidal embedding as the paper writes it, in double precision.
void add_exact_row(const AddRow& row, int64_t position, double* out) {
  const SinusoidLanes& lanes = *row.sinusoid;
  const int64_t index = position + row.offset;
  if (row.zero_row == index) return;
  for (size_t i = 0; i < lanes.inv_freq.size(); ++i) {
    const auto pair = static_cast<int64_t>(i);
    const CosSin turn = exact_cos_sin(lanes.inv_freq[i], static_cast<double>(index));
    out[lanes.sine_start + pair * lanes.lane_stride] = turn.sin;
    if (pair < lanes.num_cosines) out[lanes.cosine_start + pair * lanes.lane_stride] = turn.cos;
  }
}

Status add_sinusoids(const Plan& plan, const Positions& positions, MethodNumbers& numbers) {
  const AddRow& row = plan.row->row;
  HODO_RETURN_IF_ERROR(check_count(positions.length(), row.dim));
  if (positions.length() == 0) return {};
  // The operation's own checks and, for float32 angles, its own values.
  std::vector<float> values(static_cast<size_t>(positions.length() * row.dim));
  HODO_RETURN_IF_ERROR(add_rows(
      plan,
      EmbeddingsView::contiguous(values.data(), DType::float32, 1, positions.length(), row.dim),
      positions.view(1)));
  numbers.rows.assign(values.begin(), values.end());
  if (plan.angle_mode == AngleMode::float32) return {};
  std::fill(numbers.rows.begin(), numbers.rows.end(), 0.0);
  double* out = numbers.rows.data();
  for (const int64_t position : positions.first()) {
    add_exact_row(row, position, out);
    out += row.dim;
  }
  return {};
}

Status add_row_indices(const AddRow& row, const Positions& positions, MethodNumbers& numbers) {
  numbers.num_rows = row.num_rows;
  for (const int64_t position : positions.first()) {
    const int64_t last = *row.num_rows - row.offset - 1;
    if (position < 0 || position > last) {
      return Error{ErrorKind::limit,
                   fmt::format("position {} has no row: the learned table serves positions 0 to {}",
                               position, last)};
    }
    numbers.row_indices.push_back(position + row.offset);
  }
  return {};
}

/// Slopes, or the row of each distance.
Status add_biases(const Plan& plan, std::span<const int64_t> distances, MethodNumbers& numbers) {
  if (plan.distance_bias) numbers.slopes = plan.distance_bias->slopes;
  const bool buckets = plan.distance_bias && numbers.slopes.empty();
  if (!buckets && !plan.query_table_bias) return {};
  HODO_RETURN_IF_ERROR(check_distance_positions("positions", distances));
  for (const int64_t distance : distances) {
    if (buckets) numbers.buckets.push_back(plan.distance_bias->bucket(distance));
    if (plan.query_table_bias) {
      numbers.clipped_rows.push_back(plan.query_table_bias->row(distance));
    }
  }
  return {};
}

void add_logit_scales(const Plan& plan, const Positions& positions, MethodNumbers& numbers) {
  bool constant = true;
  for (const LogitScale& scale : plan.logit_scales) {
    numbers.softmax_factor *= scale.constant;
    constant = constant && scale.beta == 0 && scale.log_n_trained == 0;
  }
  if (constant) return;
  for (const int64_t position : positions.first()) {
    numbers.logit_scale.push_back(plan.logit_scale_at(position));
  }
}

}  // namespace

double wavelength(double inv_freq) {
  return inv_freq == 0 ? std::numeric_limits<double>::infinity() : 2 * pi.to_double() / inv_freq;
}

const FrequencySchedule* frequency_schedule(const PositionSpec& spec) {
  return std::visit(
      [](const auto& method) -> const FrequencySchedule* {
        if constexpr (requires { method.schedule; }) return &method.schedule;
        if constexpr (requires { method.rotary.schedule; }) return &method.rotary.schedule;
        return nullptr;
      },
      spec.method);
}

Result<MethodNumbers> method_numbers(const PositionSpec& spec, const NumbersRequest& request) {
  const Positions positions(request);
  const int64_t context_length = request.context_length.value_or(
      std::max<int64_t>(1, std::min(positions.largest(), max_position) + 1));
  HODO_ASSIGN(const Plan plan, make_plan(spec, context_length, request.angles));
  if (positions.axes() > 1 && positions.axes() != plan.num_axes()) {
    return Error{ErrorKind::usage,
                 fmt::format("positions have {} axes and {} has {}: expected one list or one for "
                             "each axis",
                             positions.axes(), method_name(spec), plan.num_axes())};
  }
  HODO_ASSIGN(const std::vector<Action> list, actions(spec, context_length));
  MethodNumbers numbers;
  add_frequencies(list, request.angles, numbers);
  if (!plan.rotations.empty()) {
    HODO_RETURN_IF_ERROR(add_rotations(plan, positions, request.role, numbers));
  }
  if (plan.row) {
    numbers.dim = plan.row->row.dim;
    HODO_RETURN_IF_ERROR(plan.row->row.sinusoid
                             ? add_sinusoids(plan, positions, numbers)
                             : add_row_indices(plan.row->row, positions, numbers));
  }
  HODO_RETURN_IF_ERROR(add_biases(plan, positions.first(), numbers));
  add_logit_scales(plan, positions, numbers);
  const FrequencySchedule* schedule = frequency_schedule(spec);
  if (schedule != nullptr && changes_beyond(*schedule)) numbers.context_length = context_length;
  return numbers;
}

}  // namespace hodometer
