#include "hodometer/ops/add_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hodometer/ops/testing-inl.h"
#include "hodometer/position/position_ids.h"

namespace hodometer {
namespace {

using testing::far_positions;
using testing::paper_turn;
using testing::plan_of;
using testing::rounding;
using Ids = std::vector<int64_t>;

/// Embeddings with gaps between the tokens, filled with `value`.
struct Embeddings {
  Embeddings(DType dtype, int64_t batch, int64_t length, int64_t dim, float value)
      : view{nullptr, dtype, batch, length, dim, length * (dim + 3), dim + 3},
        bytes(static_cast<size_t>(batch * length * (dim + 3) * dtype_size(dtype))) {
    const std::vector<float> values(static_cast<size_t>(batch * length * (dim + 3)), value);
    from_float32(dtype, values.data(), bytes.data(), static_cast<int64_t>(values.size()));
    view.data = bytes.data();
  }
  double at(int64_t b, int64_t i, int64_t lane) const {
    float value = 0;
    const int64_t element = b * view.batch_stride + i * view.length_stride + lane;
    to_float32(view.dtype, bytes.data() + element * dtype_size(view.dtype), &value, 1);
    return value;
  }
  EmbeddingsView view;
  std::vector<unsigned char> bytes;
};

struct Lane {
  int64_t pair;
  bool sine;
};

TEST(AddRows, SinusoidsMatchThePaperAtFarPositions) {
  const auto length =
      static_cast<int64_t>(far_positions.size()) - 1;  // the last has no row 2^31 + 1
  for (const int64_t dim : {1, 2, 5, 64, 129, 768}) {
    for (const std::string_view layout : {"interleaved", "halves"}) {
      for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
        for (const int64_t offset : {0, 2}) {
          const Plan plan =
              plan_of(fmt::format(R"({{"method":"sinusoidal","dim":{},"layout":"{}","offset":{}}})",
                                  dim, layout, offset));
          Embeddings x(dtype, 2, length, dim, 0.5f);
          ASSERT_TRUE(add_rows(plan, x.view,
                               PositionView::shared_ids(
                                   {far_positions.data(), static_cast<size_t>(length)}))
                          .ok());
          for (int64_t i = 0; i < length; i += 3) {
            for (int64_t lane = 0; lane < dim; lane += 1 + lane / 9) {
              const int64_t sines = (dim + 1) / 2;
              const Lane it = layout == "interleaved" ? Lane{lane / 2, lane % 2 == 0}
                                                      : Lane{lane % sines, lane < sines};
              const auto turn =
                  paper_turn(10000, it.pair, dim,
                             static_cast<double>(far_positions[static_cast<size_t>(i)] + offset));
              const double want = 0.5 + (it.sine ? turn.sin : turn.cos);
              ASSERT_NEAR(x.at(1, i, lane), want, 2e-7 + rounding(dtype, want))
                  << layout << " " << dim << " token " << i << " lane " << lane;
            }
            ASSERT_EQ(x.at(1, i, dim), 0.5);  // the gap
          }
        }
      }
    }
  }
}

// Fault: an odd width has one sine more than it has cosines.
TEST(AddRows, OddWidthEndsWithASine) {
  const Plan plan = plan_of(R"({"method":"sinusoidal","dim":5,"layout":"interleaved"})");
  Embeddings x(DType::float32, 1, 1, 5, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::range(1)).ok());
  const std::vector<double> wanted{0.841471, 0.540302, 0.025116, 0.999685, 0.000631};
  for (int64_t lane = 0; lane < 5; ++lane) {
    EXPECT_NEAR(x.at(0, 0, lane), wanted[static_cast<size_t>(lane)], 1e-6);
  }
}

TEST(AddRows, FractionsAndStartsAndAWideBatch) {
  const Plan plan = plan_of(R"({"method":"sinusoidal","dim":8,"layout":"halves"})");
  const std::vector<double> at{0.5, 70000.25};
  Embeddings x(DType::float32, 1, 2, 8, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::coordinates(at.data(), 1, 1, 2)).ok());
  EXPECT_NEAR(x.at(0, 1, 0), std::sin(70000.25), 1e-7);

  Ids starts;
  for (int64_t b = 0; b < 600; ++b) starts.push_back(1000 - b);
  Embeddings y(DType::float32, 600, 1, 8, 0);
  ASSERT_TRUE(add_rows(plan, y.view, PositionView::starts(starts)).ok());
  for (int64_t b = 0; b < 600; ++b) {
    EXPECT_NEAR(y.at(b, 0, 4), std::cos(static_cast<double>(1000 - b)), 1e-7);
  }
}

// The padding row is all zeros, wherever it comes up.
TEST(AddRows, ThePaddingRowAddsNothing) {
  const Plan plan = plan_of(
      R"({"method":"sinusoidal","dim":4,"layout":"halves_endpoint","offset":2,"padding_idx":1})");
  const Ids ids{-1, 0, 5, -1, -1, 7, 1, -1};
  Embeddings x(DType::float32, 2, 4, 4, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::ids(ids.data(), 2, 4)).ok());
  for (int64_t token = 0; token < 8; ++token) {
    const auto row = static_cast<double>(ids[static_cast<size_t>(token)] + 2);
    const double want = row == 1 ? 0 : std::sin(row);
    EXPECT_NEAR(x.at(token / 4, token % 4, 0), want, 1e-7) << token;
  }
}

std::vector<float> numbered(int64_t rows, int64_t dim) {
  std::vector<float> table;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t lane = 0; lane < dim; ++lane) table.push_back(static_cast<float>(row * 16 + lane));
  }
  return table;
}

// Fault: positions counted from the padding read the rows of the longest sequence.
TEST(AddRows, LearnedRowsAreThoseOfThePositions) {
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":8,"dim":3})");
  const std::vector<float> table = numbered(8, 3);
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    Embeddings x(dtype, 2, 3, 3, 1);
    const Ids ids{0, 0, 1, 5, 6, 7};
    ASSERT_TRUE(add_rows(plan, x.view, PositionView::ids(ids.data(), 2, 3),
                         LearnedTable::contiguous(table.data(), 8, 3))
                    .ok());
    for (int64_t token = 0; token < 6; ++token) {
      EXPECT_EQ(x.at(token / 3, token % 3, 2),
                static_cast<double>(ids[static_cast<size_t>(token)] * 16 + 3));
    }
  }
}

// Fault: tables of 514 rows whose first row is 2.
TEST(AddRows, TheOffsetIsPartOfTheSpec) {
  const Plan plan =
      plan_of(R"({"method":"learned","max_position_embeddings":512,"dim":1,"offset":2})");
  const std::vector<float> table = numbered(514, 1);
  const auto learned = LearnedTable::contiguous(table.data(), 514, 1);
  Embeddings x(DType::float32, 1, 512, 1, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::range(0), learned).ok());
  EXPECT_EQ(x.at(0, 0, 0), 2 * 16);
  EXPECT_EQ(x.at(0, 511, 0), 513 * 16);
  EXPECT_EQ(
      add_rows(plan, x.view, PositionView::range(1), learned).error().message,
      "add_rows: position 512 (row 0, token 511): the table has 514 rows, 0 to 513; first row "
      "used is 2; longest input 512");
}

// Fault: row 1024 of a table of 1024 rows, and 78 tokens for 77 rows, fail deep inside.
TEST(AddRows, APositionWithoutARowIsRefusedInNumbers) {
  const std::vector<float> table = numbered(1024, 1);
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":1024,"dim":1})");
  Embeddings x(DType::float32, 3, 20, 1, 0);
  Ids ids(60, 0);
  ids[57] = 1024;
  const auto learned = LearnedTable::contiguous(table.data(), 1024, 1);
  EXPECT_EQ(add_rows(plan, x.view, PositionView::ids(ids.data(), 3, 20), learned).error().message,
            "add_rows: position 1024 (row 2, token 17): the table has 1024 rows, 0 to 1023; first "
            "row used is 0; longest input 1024");
  EXPECT_FALSE(add_rows(plan, x.view, PositionView::range(-1), learned).ok());
  const Plan clip = plan_of(R"({"method":"learned","max_position_embeddings":77,"dim":1})");
  Embeddings y(DType::float32, 1, 78, 1, 0);
  EXPECT_EQ(
      add_rows(clip, y.view, PositionView::range(0), LearnedTable::contiguous(table.data(), 77, 1))
          .error()
          .message,
      "add_rows: position 77 (row 0, token 77): the table has 77 rows, 0 to 76; first row used "
      "is 0; longest input 77");
}

TEST(AddRows, ErrorsNameWhatIsWrong) {
  const Plan learned = plan_of(R"({"method":"learned","max_position_embeddings":8,"dim":3})");
  const Plan computed = plan_of(R"({"method":"sinusoidal","dim":3,"layout":"halves"})");
  const Plan alibi = plan_of(R"({"method":"alibi","num_heads":4})");
  const std::vector<float> table = numbered(8, 3);
  const auto rows = LearnedTable::contiguous(table.data(), 8, 3);
  Embeddings x(DType::float32, 1, 2, 3, 0);
  const PositionView zero = PositionView::range(0);
  EXPECT_EQ(add_rows(learned, x.view, zero).error().message,
            "add_rows: the rows are learned: expected a table of 8 rows of 3");
  EXPECT_EQ(add_rows(computed, x.view, zero, rows).error().message,
            "add_rows: the rows are computed: expected no table");
  EXPECT_EQ(add_rows(alibi, x.view, zero, rows).error().message,
            "add_rows: the method alibi adds no rows: expected no table");
  EXPECT_TRUE(add_rows(alibi, x.view, zero).ok());
  EXPECT_EQ(
      add_rows(learned, x.view, zero, LearnedTable::contiguous(table.data(), 6, 4)).error().message,
      "add_rows: the table is [6, 4]: expected [8, 3]");
  EXPECT_FALSE(add_rows(learned, x.view, zero, LearnedTable::contiguous(nullptr, 8, 3)).ok());
  const std::vector<double> half{0.5, 1.5};
  EXPECT_EQ(add_rows(learned, x.view, PositionView::coordinates(half.data(), 1, 1, 2), rows)
                .error()
                .message,
            "add_rows: the rows are learned: expected positions that are whole numbers");
  EmbeddingsView wide = x.view;
  wide.dim = 4;
  EXPECT_EQ(add_rows(computed, wide, zero).error().message,
            "add_rows: dim is 4: expected the plan's 3");
  EXPECT_FALSE(add_rows(computed, x.view, PositionView::range(max_position)).ok());
}

TEST(AddRows, ThreadsDoNotChangeABit) {
  const Plan plan = plan_of(R"({"method":"sinusoidal","dim":65,"layout":"interleaved"})");
  Embeddings serial(DType::bfloat16, 2, 2001, 65, 1);
  Embeddings parallel = serial;
  parallel.view.data = parallel.bytes.data();
  ASSERT_TRUE(add_rows(plan, serial.view, PositionView::range(3)).ok());
  ASSERT_TRUE(add_rows(plan, parallel.view, PositionView::range(3), {}, *make_executor(3)).ok());
  EXPECT_EQ(parallel.bytes, serial.bytes);
}

// Fault: positions of a left-padded sequence counted from the padding read rows 2, 3, 4.
TEST(AddRows, PaddingOnTheLeftDoesNotMoveTheRows) {
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":8,"dim":1})");
  const std::vector<float> table = numbered(8, 1);
  const MaskedIds made = *ids_from_mask(std::vector<uint8_t>{0, 0, 1, 1, 1}, 5);
  Embeddings x(DType::float32, 1, 5, 1, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::ids(made.ids.data(), 1, 5),
                       LearnedTable::contiguous(table.data(), 8, 1))
                  .ok());
  for (int64_t token = 2; token < 5; ++token) {
    EXPECT_EQ(x.at(0, token, 0), static_cast<double>((token - 2) * 16));
  }
}

// Fault: packed sequences that restart at row 0 of a table whose first row is 2.
TEST(AddRows, PackedSequencesStartAfterThePaddingRow) {
  const Plan plan =
      plan_of(R"({"method":"learned","max_position_embeddings":512,"dim":1,"offset":2})");
  const std::vector<float> table = numbered(514, 1);
  const PackedIds packed = *packed_ids(Ids{0, 3, 6});
  Embeddings x(DType::float32, 1, 6, 1, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::ids(packed.ids.data(), 1, 6),
                       LearnedTable::contiguous(table.data(), 514, 1))
                  .ok());
  const Ids rows{2, 3, 4, 2, 3, 4};
  for (int64_t token = 0; token < 6; ++token) {
    EXPECT_EQ(x.at(0, token, 0), static_cast<double>(rows[static_cast<size_t>(token)] * 16));
  }
}

// Fault: position 2048 of a table of 2048 rows returns quietly or reads what lies behind.
TEST(AddRows, APositionBehindTheTableIsNamedWithItsPlace) {
  const std::vector<float> table = numbered(2048, 1);
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":2048,"dim":1})");
  Embeddings x(DType::float32, 4, 20, 1, 0);
  const std::vector<unsigned char> before = x.bytes;
  Ids ids(80, 2047);
  ids[3 * 20 + 17] = 2048;
  EXPECT_EQ(add_rows(plan, x.view, PositionView::ids(ids.data(), 4, 20),
                     LearnedTable::contiguous(table.data(), 2048, 1))
                .error()
                .message,
            "add_rows: position 2048 (row 3, token 17): the table has 2048 rows, 0 to 2047; first "
            "row used is 0; longest input 2048");
  EXPECT_EQ(x.bytes, before);
}

// Fault: generation past the last row of a table of 1024 ends in an assertion of the device.
TEST(AddRows, GenerationPastTheLastRowIsRefused) {
  const std::vector<float> table = numbered(1024, 1);
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":1024,"dim":1})");
  Embeddings x(DType::float32, 1, 1, 1, 0);
  const auto learned = LearnedTable::contiguous(table.data(), 1024, 1);
  EXPECT_TRUE(add_rows(plan, x.view, PositionView::range(1023), learned).ok());
  EXPECT_NE(add_rows(plan, x.view, PositionView::range(1024), learned)
                .error()
                .message.find("position 1024 (row 0, token 0): the table has 1024 rows"),
            std::string::npos);
}

// Fault: an index of 100 in a table of 100 rows is a vague error deep inside.
TEST(AddRows, TooLongAnInputIsRefusedAtTheEntry) {
  const std::vector<float> table = numbered(100, 1);
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":100,"dim":1})");
  Embeddings x(DType::float32, 1, 101, 1, 0);
  const std::vector<unsigned char> before = x.bytes;
  EXPECT_NE(
      add_rows(plan, x.view, PositionView::range(0), LearnedTable::contiguous(table.data(), 100, 1))
          .error()
          .message.find("position 100 (row 0, token 100): the table has 100 rows, 0 to 99"),
      std::string::npos);
  EXPECT_EQ(x.bytes, before);
}

// Fault: a table longer than the sequence is refused, where it only must not be shorter.
TEST(AddRows, ATableMayBeLongerThanTheSequence) {
  const std::vector<float> table = numbered(4096, 1);
  const Plan plan = plan_of(R"({"method":"learned","max_position_embeddings":4096,"dim":1})");
  Embeddings x(DType::float32, 1, 100, 1, 0);
  ASSERT_TRUE(add_rows(plan, x.view, PositionView::range(0),
                       LearnedTable::contiguous(table.data(), 4096, 1))
                  .ok());
  EXPECT_EQ(x.at(0, 99, 0), 99 * 16);
}

}  // namespace
}  // namespace hodometer
