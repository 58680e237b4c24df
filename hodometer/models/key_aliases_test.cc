#include "hodometer/models/key_aliases.h"

#include <gtest/gtest.h>

namespace hodometer {
namespace {

TEST(KeyAliases, RowStartsWithItsSpellingsAndUnknownNamesAreThemselves) {
  EXPECT_EQ(key_spellings("base").spellings.front(), "rope_theta");
  EXPECT_EQ(key_spellings("base").null, NullMeans::error);
  EXPECT_EQ(key_spellings("sliding_window").null, NullMeans::absent);
  EXPECT_EQ(key_spellings("no_such_key").spellings.size(), 1u);
}

TEST(KeyAliases, NamesThatSoundLikePositions) {
  for (const auto key : {"rope_theta", "rotary_dim", "alibi", "sliding_window", "mscale_all_dim",
                         "use_logn_attn", "no_rope_layers", "attn_temperature_tuning"}) {
    EXPECT_TRUE(concerns_positions(key)) << key;
  }
  for (const auto key : {"hidden_size", "temperature", "chunk_size_feed_forward", "vocab_size"}) {
    EXPECT_FALSE(concerns_positions(key)) << key;
  }
}

}  // namespace
}  // namespace hodometer
