#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Spellings, ThatDisagreeNameBothKeysAndValues) {
  const std::string message = error_of(R"({"model_type":"gpt2","n_embd":768,"hidden_size":1024})");
  EXPECT_SAYS(message, "hidden_size is 1024");
  EXPECT_SAYS(message, "n_embd is 768");
}

TEST(Spellings, FallbackCountsOnlyAlone) {
  const auto model = read(R"({"model_type":"distilbert","dim":768,"hidden_dim":3072})");
  EXPECT_EQ(std::get<Learned>(use_named(model, "embedding").spec.method).dim, 768);
}

TEST(Nulls, CountAsAbsentOnlyWhereTheCodeTestsForThem) {
  EXPECT_EQ(rotation(attention(read(llama(R"("head_dim":null)")))).head_dim, 128);
  EXPECT_SAYS(error_of(llama(R"("rope_theta":null)")), "expected a number, got null");
}

TEST(Numbers, WholeFloatsAreWholeAndOthersAreNot) {
  EXPECT_EQ(rotation(attention(read(llama(R"("head_dim":64.0)")))).head_dim, 64);
  EXPECT_SAYS(error_of(llama(R"("head_dim":64.5)")), "head_dim: expected a whole number");
  EXPECT_SAYS(error_of(llama(R"("head_dim":true)")), "head_dim: expected a whole number");
  EXPECT_SAYS(error_of(llama(R"("head_dim":1e300)")), "head_dim");
}

}  // namespace
}  // namespace hodometer
