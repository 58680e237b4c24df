#include "hodometer/ops/add_rows_backward.h"

#include <gtest/gtest.h>

#include <vector>

#include "hodometer/ops/testing-inl.h"

namespace hodometer {
namespace {

using testing::Heads;
using testing::plan_of;

constexpr int64_t kRows = 22, kDim = 70, kBatch = 3, kLength = 9;

Plan learned() {
  return plan_of(R"({"method":"learned","max_position_embeddings":20,"dim":70,"offset":2})");
}

/// Random gradients, with room between the tokens.
struct Case {
  explicit Case(DType dtype)
      : rows(Heads::bshd(dtype, kBatch, kLength, 1, kDim + 3, 5)),
        view{rows.view().data, dtype, kBatch, kLength, kDim, kLength * (kDim + 3), kDim + 3} {
    for (int64_t i = 0; i < kBatch * kLength; ++i) ids.push_back(i * 7 % 20);
  }
  PositionView positions() const { return PositionView::ids(ids.data(), kBatch, kLength); }
  Heads rows;
  EmbeddingsView view;
  std::vector<int64_t> ids;
};

TEST(AddRowsBackward, SumsTheGradientsOfEveryRow) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const Case c(dtype);
    std::vector<float> table(kRows * (kDim + 1), 7.0f);
    ASSERT_TRUE(
        add_rows_backward(learned(), c.view, c.positions(), {table.data(), kRows, kDim, kDim + 1})
            .ok());
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t lane = 0; lane < kDim; ++lane) {
        double want = 0;
        for (int64_t b = 0; b < kBatch; ++b) {
          for (int64_t i = 0; i < kLength; ++i) {
            if (c.ids[static_cast<size_t>(b * kLength + i)] + 2 == r) {
              want += c.rows.at(b, i, 0, lane);
            }
          }
        }
        EXPECT_NEAR(static_cast<double>(table[static_cast<size_t>(r * (kDim + 1) + lane)]), want,
                    1e-6);
      }
      EXPECT_EQ(table[static_cast<size_t>(r * (kDim + 1) + kDim)], 7.0f);
    }
  }
}

// The sum of gradient * add_rows(table) changes with the table as the gradient says: exactly, for
// it is linear.
TEST(AddRowsBackward, IsTheTransposeOfAddRows) {
  const Case c(DType::float32);
  std::vector<float> gradient(kRows * kDim), table;
  const Heads random = Heads::bshd(DType::float32, 1, kRows, 1, kDim, 9);
  for (int64_t i = 0; i < kRows * kDim; ++i) {
    table.push_back(static_cast<float>(random.element(i)));
  }
  ASSERT_TRUE(add_rows_backward(learned(), c.view, c.positions(),
                                LearnedTableGradient::contiguous(gradient.data(), kRows, kDim))
                  .ok());
  std::vector<float> x(kBatch * kLength * kDim);
  ASSERT_TRUE(add_rows(learned(),
                       EmbeddingsView::contiguous(x.data(), DType::float32, kBatch, kLength, kDim),
                       c.positions(), LearnedTable::contiguous(table.data(), kRows, kDim))
                  .ok());
  double forward = 0, backward = 0;
  for (int64_t i = 0; i < kBatch * kLength; ++i) {
    for (int64_t lane = 0; lane < kDim; ++lane) {
      forward += c.rows.at(i / kLength, i % kLength, 0, lane) *
                 static_cast<double>(x[static_cast<size_t>(i * kDim + lane)]);
    }
  }
  for (size_t i = 0; i < table.size(); ++i) {
    backward += static_cast<double>(table[i]) * static_cast<double>(gradient[i]);
  }
  EXPECT_NEAR(forward, backward, 1e-3);
}

TEST(AddRowsBackward, TheSameBitsForAnyExecutor) {
  const Case c(DType::float32);
  std::vector<float> one(kRows * kDim), many(kRows * kDim);
  const auto threads = make_executor(4);
  ASSERT_TRUE(add_rows_backward(learned(), c.view, c.positions(),
                                LearnedTableGradient::contiguous(one.data(), kRows, kDim))
                  .ok());
  ASSERT_TRUE(add_rows_backward(learned(), c.view, c.positions(),
                                LearnedTableGradient::contiguous(many.data(), kRows, kDim),
                                *threads)
                  .ok());
  EXPECT_EQ(one, many);
}

TEST(AddRowsBackward, SaysWhatIsWrong) {
  const Case c(DType::float32);
  std::vector<float> table(kRows * kDim);
  const auto message = [&](const Plan& plan, const PositionView& positions, int64_t rows) {
    const Status status = add_rows_backward(
        plan, c.view, positions, LearnedTableGradient::contiguous(table.data(), rows, kDim));
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(message(plan_of(R"({"method":"nope"})"), c.positions(), kRows),
            "add_rows_backward: the method nope learns no rows: expected one that does");
  EXPECT_EQ(message(plan_of(R"({"method":"sinusoidal","dim":70,"layout":"halves"})"), c.positions(),
                    kRows),
            "add_rows_backward: the method sinusoidal learns no rows: expected one that does");
  EXPECT_EQ(message(learned(), c.positions(), kRows - 1),
            "add_rows_backward: the table is [21, 70]: expected [22, 70]");
  EXPECT_NE(message(learned(), PositionView::range(12), kRows).find("position 20"),
            std::string::npos);
}

}  // namespace
}  // namespace hodometer
