#include "hodometer/kernels/rotate_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "hodometer/kernels/convert.h"
#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

const PairLayout kLayouts[] = {PairLayout::half_split, PairLayout::interleaved};
const DType kDTypes[] = {DType::float32, DType::bfloat16, DType::float16};

// Heads of a run of tokens with room around every head, so that strides and writes outside show.
struct Case {
  DType dtype = DType::float32;
  PairLayout layout = PairLayout::half_split;
  int64_t tokens = 3, heads = 2, pairs = 4, first_lane = 0, lanes_after = 0;
  int64_t pair_distance = 0;  // 0: pairs
  int64_t gap = 3;            // elements between heads
  int64_t position = 2147483600;
  bool heads_first = false;  // memory order heads, tokens

  int64_t distance() const { return pair_distance == 0 ? pairs : pair_distance; }
  int64_t head_dim() const {
    const int64_t rotated = layout == PairLayout::half_split ? distance() + pairs : 2 * pairs;
    return first_lane + rotated + lanes_after;
  }
  int64_t head_stride() const { return (head_dim() + gap) * (heads_first ? tokens : 1); }
  int64_t token_stride() const { return (head_dim() + gap) * (heads_first ? 1 : heads); }
  int64_t size() const { return tokens * heads * (head_dim() + gap); }
};

struct Data {
  std::vector<float> values;  // what the elements are, as float32
  std::vector<std::byte> bytes;
};

Data encode(DType dtype, std::vector<float> values) {
  Data data{std::move(values), {}};
  const auto count = static_cast<int64_t>(data.values.size());
  data.bytes.resize(data.values.size() * static_cast<size_t>(dtype_size(dtype)));
  from_float32(dtype, data.values.data(), data.bytes.data(), count);
  to_float32(dtype, data.bytes.data(), data.values.data(), count);
  return data;
}

Data random_data(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(c.size()));
  for (float& v : values) v = normal(random);
  return encode(c.dtype, std::move(values));
}

std::vector<float> decode(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / static_cast<size_t>(dtype_size(dtype)));
  to_float32(dtype, bytes.data(), values.data(), static_cast<int64_t>(values.size()));
  return values;
}

std::vector<uint64_t> steps_of(int64_t pairs) {
  std::vector<uint64_t> steps;
  for (int64_t j = 0; j < pairs; ++j) {
    const double turns = std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(pairs)) /
                         (2 * 3.141592653589793);
    steps.push_back(static_cast<uint64_t>(std::ldexp(turns, 64)));
  }
  return steps;
}

// How far a rounding to the dtype may move a value.
double half_ulp(DType dtype, double value) {
  const int bits = dtype == DType::float32 ? 24 : dtype == DType::bfloat16 ? 8 : 11;
  return std::ldexp(std::fabs(value), -bits) + 1e-9;
}

// Turns in double, by the angle of the phase; every other element is as it was.
std::vector<double> expected_of(const Case& c, const std::vector<float>& in, Direction direction,
                                double magnitude) {
  std::vector<double> out(in.begin(), in.end());
  const std::vector<uint64_t> steps = steps_of(c.pairs);
  for (int64_t i = 0; i < c.tokens; ++i) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t head = i * c.token_stride() + h * c.head_stride() + c.first_lane;
      for (int64_t j = 0; j < c.pairs; ++j) {
        const auto phase = static_cast<int64_t>(static_cast<uint64_t>(c.position + i) *
                                                steps[static_cast<size_t>(j)]);
        double angle = std::ldexp(static_cast<double>(phase), -63) * 3.141592653589793;
        if (direction == Direction::inverse) angle = -angle;
        const bool half = c.layout == PairLayout::half_split;
        const auto a = static_cast<size_t>(half ? head + j : head + 2 * j);
        const auto b = static_cast<size_t>(half ? head + j + c.distance() : head + 2 * j + 1);
        const double x = static_cast<double>(in[a]), y = static_cast<double>(in[b]);
        out[a] = magnitude * (x * std::cos(angle) - y * std::sin(angle));
        out[b] = magnitude * (y * std::cos(angle) + x * std::sin(angle));
      }
    }
  }
  return out;
}

struct Call {
  AngleRows rows;
  PairLanes lanes;
  HeadBlock block;
};

Call call_of(const Case& c, const std::vector<uint64_t>& steps, const void* src, void* dst) {
  Call call;
  call.rows.tokens = c.tokens;
  call.rows.pairs = c.pairs;
  call.rows.angles = ExactAngles{steps.data(), nullptr};
  call.rows.positions = PositionRun{c.position};
  call.lanes = {c.layout, c.first_lane, c.distance()};
  call.block = {c.dtype, c.heads,          c.head_dim(),   src, c.token_stride(), c.head_stride(),
                dst,     c.token_stride(), c.head_stride()};
  return call;
}

void expect_turned(const Case& c, const std::vector<float>& in, const std::vector<std::byte>& bytes,
                   Direction direction, double magnitude, const Data& outside) {
  const std::vector<double> expected = expected_of(c, in, direction, magnitude);
  const std::vector<float> out = decode(c.dtype, bytes);
  for (int64_t at = 0; at < c.size(); ++at) {
    const auto k = static_cast<size_t>(at);
    if (at % (c.head_dim() + c.gap) >= c.head_dim()) {  // the gap after a head
      ASSERT_EQ(out[k], outside.values[k]) << "written outside at " << at;
      continue;
    }
    // Inputs are within 6: the float32 part of the bound is below 2e-6.
    ASSERT_NEAR(static_cast<double>(out[k]), expected[k],
                half_ulp(c.dtype, expected[k]) + 2e-6 * magnitude)
        << "at " << at;
  }
}

void check(const Case& c) {
  SCOPED_TRACE(testing::Message() << dtype_name(c.dtype) << " layout " << int(c.layout) << " pairs "
                                  << c.pairs << " first " << c.first_lane << " distance "
                                  << c.distance() << " after " << c.lanes_after);
  const std::vector<uint64_t> steps = steps_of(c.pairs);
  const Data data = random_data(c, 7);
  for (Direction direction : {Direction::forward, Direction::inverse}) {
    std::vector<std::byte> in_place = data.bytes;
    Call call = call_of(c, steps, in_place.data(), in_place.data());
    rotate_pairs(call.rows, direction, call.lanes, call.block);
    expect_turned(c, data.values, in_place, direction, 1.0, data);

    Data out = random_data(c, 8);
    const std::vector<std::byte> before = data.bytes;
    call = call_of(c, steps, data.bytes.data(), out.bytes.data());
    rotate_pairs(call.rows, direction, call.lanes, call.block);
    expect_turned(c, data.values, out.bytes, direction, 1.0, out);
    EXPECT_EQ(before, data.bytes);
  }
}

TEST(RotatePairs, EveryTailLayoutAndType) {
  on_every_target([] {
    for (DType dtype : kDTypes) {
      for (PairLayout layout : kLayouts) {
        for (int64_t pairs = 1; pairs <= 35; ++pairs) {
          Case c;
          c.dtype = dtype;
          c.layout = layout;
          c.pairs = pairs;
          check(c);
        }
        for (int64_t pairs : {40, 48, 64, 96, 127, 128, 256, 257, 300}) {
          Case c;
          c.dtype = dtype;
          c.layout = layout;
          c.pairs = pairs;
          c.heads = 5;
          check(c);
        }
      }
    }
  });
}

TEST(RotatePairs, PartialHeadsAndStrides) {
  on_every_target([] {
    for (DType dtype : kDTypes) {
      for (PairLayout layout : kLayouts) {
        for (int64_t pairs : {1, 8, 32, 37}) {
          Case c;
          c.dtype = dtype;
          c.layout = layout;
          c.pairs = pairs;
          c.first_lane = 5;
          c.lanes_after = 11;
          check(c);
          c.heads_first = true;
          check(c);
          if (layout == PairLayout::half_split) {
            c.pair_distance = pairs + 24;  // only the first pairs of each half turn
            check(c);
          }
        }
      }
    }
  });
}

TEST(RotatePairs, ManyHeadsAreTurnedInBlocks) {
  on_every_target([] {
    for (PairLayout layout : kLayouts) {
      Case c;
      c.layout = layout;
      c.pairs = 128;
      c.heads = 19;
      check(c);
      c.dtype = DType::bfloat16;
      check(c);
    }
  });
}

TEST(RotatePairs, MagnitudeMultiplies) {
  on_every_target([] {
    for (PairLayout layout : kLayouts) {
      Case c;
      c.layout = layout;
      c.pairs = 20;
      const std::vector<uint64_t> steps = steps_of(c.pairs);
      const Data data = random_data(c, 9);
      std::vector<std::byte> bytes = data.bytes;
      Call call = call_of(c, steps, bytes.data(), bytes.data());
      call.rows.magnitude = 1.3465736f;
      rotate_pairs(call.rows, Direction::forward, call.lanes, call.block);
      expect_turned(c, data.values, bytes, Direction::forward, 1.3465736, data);
    }
  });
}

TEST(RotatePairs, PositionZeroChangesNothing) {
  on_every_target([] {
    for (DType dtype : kDTypes) {
      for (PairLayout layout : kLayouts) {
        Case c;
        c.dtype = dtype;
        c.layout = layout;
        c.tokens = 1;
        c.pairs = 43;
        c.position = 0;
        const std::vector<uint64_t> steps = steps_of(c.pairs);
        const Data data = random_data(c, 10);
        std::vector<std::byte> bytes = data.bytes;
        const Call call = call_of(c, steps, bytes.data(), bytes.data());
        rotate_pairs(call.rows, Direction::forward, call.lanes, call.block);
        EXPECT_EQ(bytes, data.bytes);
      }
    }
  });
}

TEST(RotatePairs, NaNInfinityAndSubnormalsSurvive) {
  const float inf = std::numeric_limits<float>::infinity();
  on_every_target([&] {
    for (DType dtype : kDTypes) {
      for (PairLayout layout : kLayouts) {
        Case c;
        c.dtype = dtype;
        c.layout = layout;
        c.tokens = 1;
        c.heads = 1;
        c.gap = 0;
        c.pairs = 64;
        c.position = 1;
        const float tiny = dtype == DType::float16 ? 0x1p-20f : 0x1p-130f;
        std::vector<float> in(128);
        for (size_t i = 0; i < 128; ++i) in[i] = tiny;
        const auto second = [&](size_t pair) {
          return layout == PairLayout::half_split ? pair + 64 : 2 * pair + 1;
        };
        const auto first = [&](size_t pair) {
          return layout == PairLayout::half_split ? pair : 2 * pair;
        };
        for (size_t pair : {size_t{3}, size_t{60}}) {
          in[first(pair)] = std::bit_cast<float>(0x7FFF0000u);
          in[first(pair) - (layout == PairLayout::half_split ? 1 : 2)] = inf;
        }
        const std::vector<uint64_t> steps(64, 0);  // no turn
        const Data data = encode(dtype, in);
        std::vector<std::byte> bytes = data.bytes;
        const Call call = call_of(c, steps, bytes.data(), bytes.data());
        rotate_pairs(call.rows, Direction::forward, call.lanes, call.block);
        const std::vector<float> out = decode(dtype, bytes);
        for (size_t pair = 0; pair < 64; ++pair) {
          const float x = out[first(pair)], y = out[second(pair)];
          if (pair == 3 || pair == 60) {
            EXPECT_TRUE(std::isnan(x) && std::isnan(y)) << pair;
          } else if (pair == 2 || pair == 59) {
            EXPECT_EQ(x, inf);
            EXPECT_TRUE(std::isnan(y));  // infinity times a sine of 0
          } else {
            EXPECT_EQ(x, tiny) << pair;
            EXPECT_EQ(y, tiny) << pair;
          }
        }
      }
    }
  });
}

// What a decode step computes must be what the prefill computed.
TEST(RotatePairs, TokensOneByOneGiveTheSameBits) {
  on_every_target([] {
    for (DType dtype : kDTypes) {
      for (PairLayout layout : kLayouts) {
        Case c;
        c.dtype = dtype;
        c.layout = layout;
        c.tokens = 9;
        c.pairs = 44;
        const std::vector<uint64_t> steps = steps_of(c.pairs);
        std::vector<std::byte> together = random_data(c, 11).bytes, one_by_one = together;
        const Call all = call_of(c, steps, together.data(), together.data());
        rotate_pairs(all.rows, Direction::forward, all.lanes, all.block);
        for (int64_t i = 0; i < c.tokens; ++i) {
          std::byte* token = one_by_one.data() + i * c.token_stride() * dtype_size(dtype);
          Call one = call_of(c, steps, token, token);
          one.rows.tokens = 1;
          one.rows.positions = PositionRun{c.position + i};
          rotate_pairs(one.rows, Direction::forward, one.lanes, one.block);
        }
        EXPECT_EQ(together, one_by_one);
      }
    }
  });
}

// The defining property: q at m and k at n, turned apart, have the product of q and k turned by
// the distance; here over random heads and positions.
RC_GTEST_PROP(RotatePairs, ScoresDependOnTheDistanceOnly, ()) {
  Case c;
  c.tokens = 1;
  c.heads = 1;
  c.gap = 0;
  c.pairs = *rc::gen::inRange<int64_t>(1, 80);
  c.layout = *rc::gen::element(PairLayout::half_split, PairLayout::interleaved);
  const std::vector<uint64_t> steps = steps_of(c.pairs);
  const int64_t m = *rc::gen::inRange<int64_t>(0, 1 << 30);
  const int64_t n = *rc::gen::inRange<int64_t>(0, 1 << 30);
  const int64_t shift = *rc::gen::inRange<int64_t>(0, 1 << 30);
  const auto score = [&](int64_t query, int64_t key) {
    double product = 0;
    std::vector<float> turned[2];
    for (unsigned which : {0u, 1u}) {
      c.position = which == 0 ? query : key;
      Data data = random_data(c, 20 + which);
      const Call call = call_of(c, steps, data.bytes.data(), data.bytes.data());
      rotate_pairs(call.rows, Direction::forward, call.lanes, call.block);
      turned[which] = decode(DType::float32, data.bytes);
    }
    for (size_t i = 0; i < turned[0].size(); ++i) {
      product += static_cast<double>(turned[0][i]) * static_cast<double>(turned[1][i]);
    }
    return product;
  };
  RC_ASSERT(std::fabs(score(m, n) - score(m + shift, n + shift)) < 1e-4);
}

TEST(RotatePairs, NothingToDoIsNothing) {
  on_every_target([] {
    Case c;
    const std::vector<uint64_t> steps = steps_of(c.pairs);
    const Data data = random_data(c, 12);
    std::vector<std::byte> bytes = data.bytes;
    for (int which = 0; which < 3; ++which) {
      Call call = call_of(c, steps, bytes.data(), bytes.data());
      if (which == 0) call.rows.tokens = 0;
      if (which == 1) call.rows.pairs = 0;
      if (which == 2) call.block.heads = 0;
      rotate_pairs(call.rows, Direction::forward, call.lanes, call.block);
    }
    EXPECT_EQ(bytes, data.bytes);
  });
}

}  // namespace
}  // namespace hodometer
