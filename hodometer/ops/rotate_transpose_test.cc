// Gradients go back through the transpose of the rotation.

#include <gtest/gtest.h>

#include "hodometer/ops/rotate.h"
#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::Heads;
using testing::plan_of;

double product(const Heads& a, const Heads& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) sum += a.element(i) * b.element(i);
  return sum;
}

// <turn x, y> = <x, transpose y>, with magnitude and decay as they are.
TEST(RotateTranspose, IsAdjointToTheRotation) {
  for (
      const char* text :
      {R"({"method":"rotary","head_dim":34,"base":10000,"layout":"half_split"})",
       R"({"method":"rotary","head_dim":34,"base":10000,"layout":"interleaved","rotary_dim":18})",
       R"({"method":"rotary","head_dim":34,"base":10000,"layout":"half_split","schedule":{
            "rope_type":"yarn","factor":4,"original_max_position_embeddings":4096}})",
       R"({"method":"xpos","head_dim":34,"base":10000,"layout":"interleaved","scale_base":512})"}) {
    SCOPED_TRACE(text);
    const Plan plan = plan_of(text, 9000);
    for (const HeadRole role : {HeadRole::query, HeadRole::key}) {
      const Heads x = Heads::bshd(DType::float32, 2, 7, 3, 34, 1);
      const Heads y = Heads::bshd(DType::float32, 2, 7, 3, 34, 2);
      Heads turned = x, back = y;
      const PositionView positions = PositionView::range(1000);
      ASSERT_TRUE(rotate(plan, turned.view(), positions, {Direction::forward, role}).ok());
      ASSERT_TRUE(rotate(plan, back.view(), positions, {Direction::transpose, role}).ok());
      EXPECT_NEAR(product(turned, y), product(x, back), 1e-3);
      EXPECT_FALSE(turned == x);
    }
  }
}

}  // namespace
}  // namespace hodometer
