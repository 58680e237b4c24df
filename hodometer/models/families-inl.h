#pragma once

// Private: what the table of model families holds, and the readers its rows name. Not installed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodometer/base/pair_layout.h"
#include "hodometer/methods/axial_rotary.h"
#include "hodometer/methods/mrope.h"
#include "hodometer/methods/sinusoidal.h"
#include "hodometer/models/config_reader-inl.h"
#include "hodometer/models/model_positions.h"

namespace hodometer {

struct Family;

/// One part of a model: a section of the file and the family that says how to read it.
struct Part {
  ConfigReader config;
  const Family* family;
  std::string prefix;  ///< begins the names of the part's uses: "vision"; empty for the text
  ModelPositions* model;

  /// "attention", or "vision" and "vision.decoder" in a part with a prefix.
  std::string use_name(std::string_view name) const;
  /// The customary value of a family, told as a reason.
  std::string customary() const;
  /// What the family's published code fixes, told as a reason.
  std::string fixed() const;
};

using FamilyReader = Status (*)(const Part&);

/// How a decoder's layers differ when the file has no list of layer types.
enum class LayerRule : uint8_t {
  uniform,            ///< all alike; a sliding window, where the family has one, is everywhere
  last_of_n_full,     ///< layer l is full when (l + 1) % period == 0, else local
  first_of_n_full,    ///< layer l is full when l % period == 0, else local
  last_layer_full,    ///< as last_of_n_full, and the last layer is always full
  window_from_layer,  ///< full below max_window_layers, sliding from there on
  no_rope_layers,     ///< a list with 1 where a layer rotates, or every period-th does not
  hybrid,             ///< attention among recurrent layers, told by a list of the file
  hybrid_else_full,   ///< the same, and without a list the code takes all for attention
};

/// Which of a decoder's layers rotate.
enum class Rotates : uint8_t {
  all,
  sliding_layers,            ///< Cohere2
  sliding_layers_if_window,  ///< EXAONE 4
  marked_layers,             ///< no_rope_layers
  if_position_embedding_type_rope,
};

/// Which layers a flat rope_scaling applies to.
enum class ScalingScope : uint8_t { all_layers, full_layers, not_read };

/// Whether the family's code reads sliding_window.
enum class Window : uint8_t {
  none,
  from_file,
  if_switched_on,  ///< only when use_sliding_window is true
};

/// Whether the family's default rule obeys partial_rotary_factor or rotary_dim. Many families
/// ignore them, so a file that gives a part is not to be trusted blindly.
enum class FractionKey : uint8_t { not_read, read };

/// Whether the file may leave out the rope block. Where the class has a schedule of its own for its
/// absence, engines differ in what they take.
enum class RopeBlockKey : uint8_t { optional, required };

/// Rules on the score that belong to a family rather than to a key.
enum class ScoreRule : uint8_t {
  none,
  yarn_softmax,                  ///< MLA models: (0.1 mscale_all_dim ln(factor) + 1)^2
  temperature_from_zero,         ///< Ministral 3: llama_4_scaling_beta, all layers
  yarn_softmax_and_temperature,  ///< Mistral 4 has both
  temperature_on_nope,           ///< Llama 4: attn_temperature_tuning, layers without rotation
};

/// One model_type: what its published code does that no key of the file says.
struct Family {
  std::string_view model_type = {};
  FamilyReader read = nullptr;
  std::optional<PairLayout> layout = {};

  // Rotary. Zero means that the file has to say.
  double base = 0;
  Origin base_origin = Origin::assumed;
  double local_base = 0;  ///< base of the sliding layers
  double fraction = 1;
  FractionKey fraction_key = FractionKey::not_read;  ///< only asked when fraction is 1
  int64_t rotary_dim = 0;
  int64_t head_dim = 0;
  int64_t full_head_dim = 0;  ///< of full layers, where it differs
  int64_t nope_dim = 0;       ///< of MLA heads: qk_nope_head_dim and qk_rope_head_dim
  int64_t rope_dim = 0;
  std::optional<PairLayout> indexer = {};
  LayerRule layers = LayerRule::uniform;
  int64_t period = 0;
  std::string_view period_key = "sliding_window_pattern";
  std::string_view local_kind = "sliding_attention";
  std::string_view full_kind = "full_attention";
  Window window = Window::none;
  int64_t window_size = 0;        ///< where the file does not name one
  int64_t max_window_layers = 0;  ///< the same
  std::string_view window_key = "sliding_window";
  Rotates rotates = Rotates::all;
  ScalingScope scaling = ScalingScope::all_layers;
  RopeBlockKey rope_block = RopeBlockKey::optional;
  MaskKind mask = MaskKind::causal;
  ScoreRule score = ScoreRule::none;
  std::optional<SectionLayout> sections = {};
  std::vector<int64_t> mrope_section = {};

  // Absolute.
  int64_t positions = 0;  ///< rows a position may use when the file does not say
  int64_t offset = 0;
  std::optional<SinusoidalLayout> sinusoid = {};

  // Vision.
  std::optional<AxisLayout> axes = {};

  int64_t vision_extra_rows = 0;  ///< rows of a patch table that are no patch: a class token

  // Models of several parts: the families of parts that do not name one.
  std::string_view text = {};
  std::string_view vision = {};
  std::string_view audio = {};

  std::string_view note = {};
};

/// One row of the table: the names of the model_types that behave alike, and how.
struct FamilyRow {
  std::string_view model_types;  ///< separated by spaces
  Family family;
};
std::vector<FamilyRow> rotary_families();
std::vector<FamilyRow> other_families();

/// The family of a model_type, or null.
const Family* find_family(std::string_view model_type);

/// Every family, in the order of the table.
const std::vector<Family>& families();

// The readers. Each appends the part's uses to the model.
Status read_decoder(const Part& part);
Status read_mla(const Part& part);
Status read_deepseek_v4(const Part& part);
Status read_falcon(const Part& part);
Status read_jais(const Part& part);
Status read_mpt(const Part& part);
Status read_baichuan(const Part& part);
Status read_qwen1(const Part& part);
Status read_chatglm(const Part& part);
Status read_moonshine(const Part& part);
Status read_alibi(const Part& part);
Status read_t5(const Part& part);
Status read_shaw(const Part& part);
Status read_learned(const Part& part);
Status read_learned_after_padding(const Part& part);
Status read_encoder_decoder(const Part& part);
Status read_sinusoidal(const Part& part);
Status read_esm(const Part& part);
Status read_mpnet(const Part& part);
Status read_whisper(const Part& part);
Status read_axial(const Part& part);
Status read_patch_table(const Part& part);
Status read_composite(const Part& part);
Status read_nope(const Part& part);
Status refuse(const Part& part);

/// How many layers a section says it has, and the model's own number when it is the main section.
Result<std::optional<Sourced<int64_t>>> read_layer_count(const Part& part, std::string_view key);

/// Makes a use one of all layers of a section.
void use_all_layers(const std::optional<Sourced<int64_t>>& count, PositionUse& use);

/// Adds a use to the model once its spec passes check(); errors name the part of the file.
Status add_use(const Part& part, PositionUse use);

}  // namespace hodometer
