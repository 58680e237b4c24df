#include <gtest/gtest.h>

#include "hodometer/ops/kv_cache_cases_test.h"
#include "hodometer/ops/kv_cache_rotation-inl.h"
#include "hodometer/ops/rotate.h"

namespace hodometer {
namespace {

using internal::same_rotations;
using internal::turn_on;
using testing::Heads;
using testing::rotary_text;
using testing::shared_plan;
using testing::words_of;

/// The largest error of keys that rotate() turned by one plan and turn_on() on to another, as a
/// share of the length of their pairs.
double error_on_the_way(const Plan& before, const std::vector<int64_t>& from, const Plan& after,
                        const std::vector<int64_t>& to) {
  const int64_t dim = after.head_dim();
  const Heads source = Heads::bshd(DType::float32, 1, 1, 3, dim, 7);
  Heads turned = source;
  RotateOptions options;
  options.role = HeadRole::key;
  const auto axes = static_cast<int64_t>(from.size());
  EXPECT_TRUE(
      rotate(before, turned.view(), PositionView::axes(from.data(), axes, 1, 1), options).ok());
  turn_on({&before, from.data()}, {&after, to.data()}, static_cast<float*>(turned.view().data), 3);
  const auto list = actions(after.spec, after.context_length).value();
  double worst = 0;
  for (int64_t head = 0; head < 3; ++head) {
    std::vector<double> lanes;
    for (int64_t lane = 0; lane < dim; ++lane) lanes.push_back(source.at(0, 0, head, lane));
    const testing::ExactKey want = testing::exact_key(list, lanes, to.data());
    for (int64_t lane = 0; lane < dim; ++lane) {
      const auto i = static_cast<size_t>(lane);
      worst = std::max(
          worst, std::abs(turned.at(0, 0, head, lane) - want.lanes[i]) / (want.lengths[i] + 1e-30));
    }
  }
  return worst;
}

TEST(KvCacheRotation, TurnsKeysFromAnyPositionToAnyOther) {
  double worst = 0;
  for (const testing::AttentionMethod& method : testing::cache_methods(64, 4)) {
    const auto plan = shared_plan(method.text, max_position + 1);
    if (plan->rotations.empty()) continue;
    for (const int64_t from : testing::far_positions) {
      for (const int64_t to : {int64_t{0}, int64_t{1}, int64_t{4096}, int64_t{131072},
                               int64_t{1048575}, max_position, -max_position}) {
        if (plan->rotations[0].decay && std::abs(from) + std::abs(to) > 4000000) continue;
        std::vector<int64_t> before, after;
        for (int64_t axis = 0; axis < plan->num_axes(); ++axis) {
          before.push_back(from - (from == max_position ? 3 * axis : -2 * axis));
          after.push_back(to + (to > 0 ? -axis : axis));
        }
        const double error = error_on_the_way(*plan, before, *plan, after);
        worst = std::max(worst, error);
        EXPECT_LT(error, 6e-7) << method.name << " from " << from << " to " << to;
      }
    }
  }
  RecordProperty("worst_in_1e-9", static_cast<int>(worst * 1e9));
}

TEST(KvCacheRotation, TurnsKeysFromOnePlanToAnother) {
  const std::vector<std::pair<std::shared_ptr<const Plan>, std::shared_ptr<const Plan>>> switches{
      {shared_plan(testing::longrope_text(64, 4096), 4096),
       shared_plan(testing::longrope_text(64, 4096), 4097)},
      {shared_plan(testing::dynamic_text(64, 4096), 4096),
       shared_plan(testing::dynamic_text(64, 4096), 100000)},
      {shared_plan(rotary_text(64, R"("layout":"half_split")")),
       shared_plan(rotary_text(64, R"("layout":"half_split","schedule":{"rope_type":"yarn",
           "factor":4,"original_max_position_embeddings":4096})"))}};
  for (const auto& [one, other] : switches) {
    for (const int64_t from : {0, 1, 255, 4095}) {
      for (const int64_t to : {0, 1, 255, 4095}) {
        EXPECT_LT(error_on_the_way(*one, {from}, *other, {to}), 6e-7);
        EXPECT_LT(error_on_the_way(*other, {from}, *one, {to}), 6e-7);
      }
    }
  }
}

TEST(KvCacheRotation, GoesByTheFloat32AnglesOfItsPlan) {
  const auto spec = testing::spec_of(rotary_text(64, R"("layout":"interleaved")"));
  const auto plan = shared_plan(spec, 1, AngleMode::float32);
  for (const int64_t from : {0, 4095, 131071, 1048575}) {
    for (const int64_t to : {0, 1, 32767, 1048575}) {
      const Heads source = Heads::bshd(DType::float32, 1, 1, 2, 64, 7);
      Heads turned = source, want = source;
      ASSERT_TRUE(rotate(*plan, turned.view(), PositionView::range(from)).ok());
      ASSERT_TRUE(rotate(*plan, want.view(), PositionView::range(to)).ok());
      turn_on({plan.get(), &from}, {plan.get(), &to}, static_cast<float*>(turned.view().data), 2);
      for (int64_t e = 0; e < want.elements(); ++e) {
        EXPECT_NEAR(turned.element(e), want.element(e), 2e-6) << from << " to " << to;
      }
    }
  }
}

TEST(KvCacheRotation, KnowsPlansThatTurnAlike) {
  const auto yarn = [](int64_t factor, int64_t length) {
    return shared_plan(rotary_text(64, R"("layout":"half_split","schedule":{"rope_type":"yarn",
        "original_max_position_embeddings":4096,"factor":)" +
                                           std::to_string(factor) + "}"),
                       length);
  };
  EXPECT_TRUE(same_rotations(*yarn(4, 1), *yarn(4, 9000)));
  EXPECT_FALSE(same_rotations(*yarn(4, 1), *yarn(8, 1)));
  const auto dynamic = [](int64_t length) {
    return shared_plan(testing::dynamic_text(64), length);
  };
  EXPECT_TRUE(same_rotations(*dynamic(3), *dynamic(40)));
  EXPECT_FALSE(same_rotations(*dynamic(40), *dynamic(41)));
  const auto spec = testing::spec_of(rotary_text(64, R"("layout":"half_split")"));
  EXPECT_FALSE(same_rotations(*shared_plan(spec, 1), *shared_plan(spec, 1, AngleMode::float32)));
  EXPECT_TRUE(same_rotations(*shared_plan(R"({"method":"nope"})"),
                             *shared_plan(R"({"method":"alibi","num_heads":2})")));
}

TEST(KvCacheRotation, RefusesOtherLanesByName) {
  const auto refusal = [](std::string_view from, std::string_view to) {
    return words_of(internal::check_same_lanes("op", *shared_plan(from), *shared_plan(to)));
  };
  const std::string plain = rotary_text(64, R"("layout":"half_split")");
  EXPECT_EQ(refusal(plain, rotary_text(64, R"("layout":"half_split","rotary_dim":32)")),
            "op: rotary_dim of the plan is 32: expected the cache's 64");
  EXPECT_EQ(refusal(plain, rotary_text(32, R"("layout":"half_split")")),
            "op: head_dim of the plan is 32: expected the cache's 64");
  EXPECT_EQ(refusal(plain, rotary_text(64, R"("layout":"interleaved")")),
            "op: layout of the plan is interleaved: expected the cache's half_split");
  EXPECT_EQ(refusal(plain, R"({"method":"nope"})"),
            "op: method of the plan is nope: expected the cache's rotary");
  EXPECT_EQ(refusal(rotary_text(64, R"("layout":"half_split","rotary_dim":32)"),
                    rotary_text(64, R"("layout":"half_split","rotary_dim":32,"rotary_start":32)")),
            "op: rotary_start of the plan is 32: expected the cache's 0");
  const auto mrope = [](std::string_view sections) {
    return R"({"method":"mrope","head_dim":64,"base":10000,"layout":"half_split","mrope_section":)" +
           std::string(sections) + R"(,"section_layout":"chunked"})";
  };
  EXPECT_EQ(refusal(mrope("[16,8,8]"), mrope("[8,12,12]")),
            "op: pairs of the plan read other axes than the cache's: expected the same sections");
  EXPECT_EQ(refusal(mrope("[16,8,8]"), mrope("[16,16]")),
            "op: num_axes of the plan is 2: expected the cache's 3");
  EXPECT_EQ(refusal(plain, rotary_text(64, R"("layout":"half_split","schedule":{
                                                "rope_type":"linear","factor":8})")),
            "accepted");
}

TEST(KvCacheRotation, RefusesAWayBeyondFloat32) {
  const auto xpos = shared_plan(
      R"({"method":"xpos","head_dim":64,"layout":"interleaved","base":10000,"scale_base":512})");
  const int64_t low = -30000, high = 30000, near = 29000;
  EXPECT_TRUE(internal::check_way("op", {xpos.get(), &high}, {xpos.get(), &near}).ok());
  const Status far = internal::check_way("op", {xpos.get(), &high}, {xpos.get(), &low});
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().kind, ErrorKind::limit);
  EXPECT_EQ(far.error().message.substr(0, 63),
            "op: from position 30000 to -30000 pair 0 of xpos is multiplied ");
}

}  // namespace
}  // namespace hodometer
