#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(LayerLists, MarksAndNumbersOfOtherFamilies) {
  const auto minimax = read(R"({"model_type":"minimax_text_01","head_dim":128,"rotary_dim":64,
      "num_hidden_layers":4,"attn_type_list":[0,0,0,1]})");
  EXPECT_EQ(use_named(minimax, "full_attention").layers, (std::vector<int64_t>{3}));
  const auto bamba = read(R"({"model_type":"bamba","head_dim":128,"num_hidden_layers":4,
      "attn_layer_indices":[1]})");
  EXPECT_EQ(use_named(bamba, "full_attention").layers, (std::vector<int64_t>{1}));
  EXPECT_EQ(use_named(bamba, "linear_attention").layers, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_SAYS(error_of(R"({"model_type":"bamba","head_dim":128,"num_hidden_layers":4,
      "attn_layer_indices":[4]})"),
              "attn_layer_indices names layer 4");
  EXPECT_SAYS(error_of(R"({"model_type":"minimax_text_01","head_dim":128,"num_hidden_layers":2,
      "attn_type_list":[0,2]})"),
              "attn_type_list holds 2");
}

TEST(LayerLists, RepeatingBlocks) {
  const auto model = read(R"({"model_type":"recurrent_gemma","num_hidden_layers":5,
      "block_types":["recurrent","recurrent","attention"],"attention_window_size":2048})");
  EXPECT_EQ(use_named(model, "sliding_attention").layers, (std::vector<int64_t>{2}));
  EXPECT_EQ(use_named(model, "sliding_attention").mask_size, 2048);
  EXPECT_EQ(use_named(model, "linear_attention").layers.size(), 4u);
}

TEST(LayerLists, LettersAreAPeriod) {
  const auto json = [](std::string_view pattern) {
    return fmt::format(R"({{"model_type":"exaone4","head_dim":128,"num_hidden_layers":8,
        "sliding_window":4096,"sliding_window_pattern":{}}})",
                       pattern);
  };
  const auto model = read(json(R"("LLLG")"));
  EXPECT_EQ(use_named(model, "full_attention").layers, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(method_name(use_named(model, "full_attention").spec), "nope");
  EXPECT_SAYS(error_of(json(R"("LGLG")")), "sliding_window_pattern");
  EXPECT_SAYS(error_of(json("0")), "sliding_window_pattern is 0");
}

}  // namespace
}  // namespace hodometer
