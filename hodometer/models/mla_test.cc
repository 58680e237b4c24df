#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(YarnFactors, LatentAttentionHasASecondFactorOnTheScore) {
  const auto scale = [](double mscale) {
    const auto model = read(fmt::format(
        R"({{"model_type":"deepseek_v2","max_position_embeddings":163840,"qk_nope_head_dim":128,
        "qk_rope_head_dim":64,"rope_scaling":{{"type":"yarn","factor":40,"mscale":{0},
        "mscale_all_dim":{0},"original_max_position_embeddings":4096}}}})",
        mscale));
    const PositionUse& use = attention(model);
    EXPECT_EQ(rotation(use).magnitude, 1.0);
    EXPECT_EQ(use.spec.logit_scale.size(), 1u);
    return logit_scale(use.spec.logit_scale.at(0)).at(0);
  };
  EXPECT_NEAR(scale(0.707), 1.589626165, 1e-9);
  EXPECT_NEAR(scale(1.0), 1.873854207, 1e-9);
}

TEST(Layers, SparseIndexerPairsInItsOwnWay) {
  const auto model = read(R"({"model_type":"deepseek_v32","max_position_embeddings":4096})");
  EXPECT_EQ(rotation(attention(model)).layout, PairLayout::interleaved);
  EXPECT_EQ(rotation(attention(model)).rotary_start, 128);
  EXPECT_EQ(rotation(attention(model)).rotary_dim, 64);
  EXPECT_EQ(rotation(use_named(model, "indexer")).layout, PairLayout::half_split);
  EXPECT_EQ(rotation(use_named(model, "indexer")).rotary_dim, 64);
  EXPECT_EQ(rotation(use_named(model, "indexer")).rotary_start, 0);
}

TEST(LatentAttention, PairingCanBeSwitchedByTheFile) {
  const auto model = read(R"({"model_type":"deepseek_v3","rope_interleave":false})");
  EXPECT_EQ(rotation(attention(model)).layout, PairLayout::half_split);
  EXPECT_EQ(attention(model).layout_reason, "rope_interleave");
}

TEST(LatentAttention, HeadIsTheSumOfItsParts) {
  const auto model = read(R"({"model_type":"deepseek_v3","head_dim":192,"qk_nope_head_dim":96,
      "qk_rope_head_dim":32})");
  const RotatePairs pairs = rotation(attention(model));
  EXPECT_EQ(pairs.head_dim, 128);
  EXPECT_EQ(pairs.rotary_dim, 32);
  EXPECT_EQ(pairs.rotary_start, 96);
  EXPECT_SAYS(error_of(R"({"model_type":"deepseek_v3","qk_rope_head_dim":-64})"),
              "qk_rope_head_dim is -64");
}

TEST(DeepSeekV4, CompressedLayersHaveTheirOwnBaseAndNoMagnitude) {
  const auto model = read(R"({"model_type":"deepseek_v4","num_hidden_layers":4,"head_dim":512,
      "qk_rope_head_dim":64,"max_position_embeddings":1048576,"sliding_window":128,
      "compress_ratios":[0,0,4,128],"rope_theta":10000,"compress_rope_theta":160000,
      "rope_scaling":{"type":"yarn","factor":16,"original_max_position_embeddings":65536}})");
  const PositionUse& plain = use_named(model, "sliding_attention");
  EXPECT_EQ(plain.layers, (std::vector<int64_t>{0, 1}));
  EXPECT_NEAR(std::pow(inv_freq(plain, 16), -2), 10000, 1e-8);
  const PositionUse& compressed = use_named(model, "compressed_attention");
  EXPECT_EQ(compressed.layers, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::get<Rotary>(compressed.spec.method).base, 160000);
  EXPECT_EQ(rotation(compressed).magnitude, 1.0);
  EXPECT_EQ(rotation(compressed).rotary_start, 448);
  EXPECT_EQ(use_named(model, "indexer").layers, (std::vector<int64_t>{2}));
}

}  // namespace
}  // namespace hodometer
