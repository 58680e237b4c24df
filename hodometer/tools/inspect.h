#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "hodometer/base/fields.h"
#include "hodometer/base/result.h"
#include "hodometer/models/model_positions.h"

/// What a model does about order, as a report: everything that inspect prints, computed once.
namespace hodometer {

/// One value of a use and where it came from.
struct ParameterReport {
  std::string name;
  std::string value;
  Origin origin = Origin::file;
  std::string source;

  static constexpr auto fields() {
    return std::tuple{required("name", &ParameterReport::name, "", "member of the spec"),
                      required("value", &ParameterReport::value, "", "as text"),
                      required("origin", &ParameterReport::origin, "", "kind of source"),
                      required("source", &ParameterReport::source, "", "key, or why it is known")};
  }
};

/// What a schedule that looks at the length gives at one length.
struct LengthReport {
  int64_t length = 0;
  double attention_factor = 1;
  double longest_wavelength = 0;

  static constexpr auto fields() {
    return std::tuple{
        required("length", &LengthReport::length, "positions", "of the whole sequence"),
        required("attention_factor", &LengthReport::attention_factor, "", "multiplies cos and sin"),
        required("longest_wavelength", &LengthReport::longest_wavelength, "positions",
                 "of the slowest pair that turns")};
  }
};

/// The pairs of a rotation. Frequencies are those at the trained length (at any length, where the
/// schedule does not look at it).
struct PairsReport {
  PairLayout layout = PairLayout::half_split;
  std::string layout_reason;
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;
  int64_t rotary_start = 0;
  int64_t num_pairs = 0;
  std::vector<std::array<int64_t, 2>> first_pairs;  ///< their lanes; two at most
  int64_t num_axes = 1;
  std::optional<double> shortest_wavelength;
  std::optional<double> longest_wavelength;
  int64_t still_pairs = 0;
  std::optional<int64_t> incomplete_pairs;
  double attention_factor = 1;
  std::optional<int64_t> changes_beyond;
  std::vector<LengthReport> by_length;

  static constexpr auto fields() {
    return std::tuple{
        required("layout", &PairsReport::layout, "", "which two lanes make a pair"),
        required("layout_reason", &PairsReport::layout_reason, "", "why that is known"),
        required("head_dim", &PairsReport::head_dim, "lanes", "width of a head"),
        required("rotary_dim", &PairsReport::rotary_dim, "lanes", "lanes that turn"),
        required("rotary_start", &PairsReport::rotary_start, "lanes", "first of them"),
        required("num_pairs", &PairsReport::num_pairs, "pairs", "rotary_dim / 2"),
        required("first_pairs", &PairsReport::first_pairs, "lanes",
                 "the two lanes of each of the first pairs, two pairs at most"),
        required("num_axes", &PairsReport::num_axes, "", "numbers that a position has"),
        optional("shortest_wavelength", &PairsReport::shortest_wavelength, "positions",
                 "of the fastest pair"),
        optional("longest_wavelength", &PairsReport::longest_wavelength, "positions",
                 "of the slowest pair that turns"),
        required("still_pairs", &PairsReport::still_pairs, "pairs", "pairs that never turn"),
        optional("incomplete_pairs", &PairsReport::incomplete_pairs, "pairs",
                 "pairs whose wavelength is longer than the trained length"),
        required("attention_factor", &PairsReport::attention_factor, "", "multiplies cos and sin"),
        optional("changes_beyond", &PairsReport::changes_beyond, "positions",
                 "length up to which the frequencies stay as they are"),
        optional("by_length", &PairsReport::by_length, "",
                 "the schedule below and beyond that length")};
  }
};

/// Rows added to the embedding.
struct RowsReport {
  int64_t dim = 0;
  int64_t offset = 0;
  std::optional<int64_t> num_rows;
  std::optional<double> shortest_wavelength;
  std::optional<double> longest_wavelength;

  static constexpr auto fields() {
    return std::tuple{required("dim", &RowsReport::dim, "lanes", "width of a row"),
                      required("offset", &RowsReport::offset, "rows", "row of position 0"),
                      optional("num_rows", &RowsReport::num_rows, "rows", "of a learned table"),
                      optional("shortest_wavelength", &RowsReport::shortest_wavelength, "positions",
                               "of the fastest sinusoid"),
                      optional("longest_wavelength", &RowsReport::longest_wavelength, "positions",
                               "of the slowest sinusoid")};
  }
};

/// What is added to the score by distance.
struct BiasReport {
  int64_t num_heads = 0;
  std::vector<double> slopes;
  std::optional<int64_t> num_buckets;
  std::optional<int64_t> last_bucket_from;
  std::optional<int64_t> left;
  std::optional<int64_t> right;

  static constexpr auto fields() {
    return std::tuple{
        optional("num_heads", &BiasReport::num_heads, "heads", "heads with a bias of their own"),
        optional("slopes", &BiasReport::slopes, "per position", "one per head"),
        optional("num_buckets", &BiasReport::num_buckets, "buckets", "rows of the learned table"),
        optional("last_bucket_from", &BiasReport::last_bucket_from, "positions",
                 "distance from which all share the last bucket"),
        optional("left", &BiasReport::left, "positions", "clip for keys left of the query"),
        optional("right", &BiasReport::right, "positions", "clip for keys right of the query")};
  }
};

/// The factor of a query's scores where it depends on the position.
struct LogitScaleReport {
  int64_t position = 0;
  double factor = 1;

  static constexpr auto fields() {
    return std::tuple{required("position", &LogitScaleReport::position, "", "of the query"),
                      required("factor", &LogitScaleReport::factor, "", "multiplies its scores")};
  }
};

/// One position method of the model.
struct UseReport {
  std::string name;
  std::vector<int64_t> layers;
  std::string method;
  std::optional<std::string> schedule;
  std::optional<PairsReport> pairs;
  std::optional<RowsReport> rows;
  std::optional<BiasReport> bias;
  double softmax_factor = 1;
  std::vector<LogitScaleReport> logit_scale;
  MaskKind mask = MaskKind::causal;
  std::optional<int64_t> mask_size;
  std::optional<int64_t> trained_length;
  std::optional<int64_t> longest_input;
  std::vector<ParameterReport> parameters;
  std::string spec;  ///< its text form

  static constexpr auto fields() {
    return std::tuple{
        required("name", &UseReport::name, "", "kind of layer, tower or encoder"),
        required("layers", &UseReport::layers, "", "layers that use it"),
        required("method", &UseReport::method, "", "name of the position method"),
        optional("schedule", &UseReport::schedule, "", "rule that changes the frequencies"),
        optional("pairs", &UseReport::pairs, "", "what turns"),
        optional("rows", &UseReport::rows, "", "what is added to the embedding"),
        optional("bias", &UseReport::bias, "", "what is added to the score"),
        required("softmax_factor", &UseReport::softmax_factor, "",
                 "multiplies every score on top of 1/sqrt(head_dim)"),
        optional("logit_scale", &UseReport::logit_scale, "",
                 "the factor by position, softmax_factor included"),
        required("mask", &UseReport::mask, "", "keys that a query sees"),
        optional("mask_size", &UseReport::mask_size, "positions", "of the window or chunk"),
        optional("trained_length", &UseReport::trained_length, "positions",
                 "seen before any extension"),
        optional("longest_input", &UseReport::longest_input, "positions", "longest legal input"),
        required("parameters", &UseReport::parameters, "", "every value and its source")};
  }
};

/// Everything that a model does about order.
struct ModelReport {
  std::string model_type;
  std::optional<int64_t> num_layers;
  std::vector<UseReport> uses;
  std::vector<std::string> warnings;

  static constexpr auto fields() {
    return std::tuple{
        required("model_type", &ModelReport::model_type, "", "the file's own name of the family"),
        optional("num_layers", &ModelReport::num_layers, "layers", "of the decoder or encoder"),
        required("uses", &ModelReport::uses, "", "one per kind of layer, tower or encoder"),
        required("warnings", &ModelReport::warnings, "", "what a person should look at")};
  }
};

/// The length that the numbers of a use are reported for: the trained one, or as much of it as
/// there are positions; 1 where it is not known.
int64_t report_length(const PositionUse& use);

/// Computes the report. Errors as actions(), with the name of the use.
Result<ModelReport> inspect(const ModelPositions& model);

/// The report as JSON text on one line; a use also has its spec.
std::string report_json(const ModelReport& report);

/// Ascending layers with runs drawn together: "0-4, 6-10".
std::string layers_text(const std::vector<int64_t>& layers);

}  // namespace hodometer
