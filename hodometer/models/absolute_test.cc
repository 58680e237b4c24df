#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Tables, StartAfterThePaddingRow) {
  const auto model = read(R"({"model_type":"roberta","hidden_size":768,"pad_token_id":1,
      "max_position_embeddings":514})");
  const auto& learned = std::get<Learned>(use_named(model, "embedding").spec.method);
  EXPECT_EQ(learned.offset, 2);
  EXPECT_EQ(learned.max_position_embeddings, 512);
  EXPECT_EQ(use_named(model, "embedding").longest_input, 512);
}

TEST(Tables, OptHasTwoRowsMore) {
  const auto model =
      read(R"({"model_type":"opt","hidden_size":768,"max_position_embeddings":2048})");
  EXPECT_EQ(std::get<Learned>(use_named(model, "embedding").spec.method).offset, 2);
  EXPECT_EQ(use_named(model, "embedding").longest_input, 2048);
}

}  // namespace
}  // namespace hodometer
