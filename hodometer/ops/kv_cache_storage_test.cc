#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "hodometer/ops/kv_cache_cases_test.h"
#include "hodometer/ops/kv_cache_storage-inl.h"

namespace hodometer {
namespace {

using internal::KvSide;
using internal::KvStorage;
using internal::RowFormat;

std::vector<float> through_int8(const std::vector<float>& row) {
  const RowFormat format{KvType::int8, 1, static_cast<int64_t>(row.size())};
  std::vector<float> memory(static_cast<size_t>(format.block_bytes(1)));
  auto* block = reinterpret_cast<std::byte*>(memory.data());
  std::vector<float> back(row.size());
  format.store(block, 1, 0, 0, row.data());
  format.load(block, 1, 0, 0, 1, back.data());
  return back;
}

TEST(KvCacheStorage, Int8IsWithinAStepOfItsRow) {
  for (const double size : {1e-30, 1e-3, 1.0, 7e4, 3e38}) {
    for (const int64_t lanes : {1, 3, 64, 127}) {
      std::vector<float> row = testing::random_floats(lanes, static_cast<uint64_t>(lanes));
      double largest = 0;
      for (float& value : row) {
        value *= static_cast<float>(size);
        largest = std::max(largest, std::abs(static_cast<double>(value)));
      }
      const std::vector<float> back = through_int8(row);
      for (size_t i = 0; i < row.size(); ++i) {
        EXPECT_LE(std::abs(static_cast<double>(back[i]) - static_cast<double>(row[i])),
                  largest / 254 * 1.0001);
      }
    }
  }
}

TEST(KvCacheStorage, Int8KeepsTheLargestLaneAndZero) {
  const std::vector<float> back = through_int8({0, -3.5f, 1.75f, 3.5f});
  EXPECT_EQ(back[0], 0);
  EXPECT_FLOAT_EQ(back[1], -3.5f);
  EXPECT_FLOAT_EQ(back[3], 3.5f);
  EXPECT_EQ(through_int8({0, 0, 0}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(through_int8({1e-37f, -9e-37f}), (std::vector<float>{0, 0}));
}

TEST(KvCacheStorage, Int8RowsThatAreNotFiniteAreNaN) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const float value : through_int8({1, bad, 2})) EXPECT_TRUE(std::isnan(value));
  }
}

KvStorage storage_of(KvType type, KvRoom room) {
  return KvStorage::make({2, 5, 3, type, room}).value();
}

/// Every lane of a token is its number.
void write_tokens(KvStorage& storage, int64_t first, int64_t count) {
  ASSERT_TRUE(storage.append(count).ok());
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> row(5, static_cast<float>(first + i));
    for (int64_t head = 0; head < 2; ++head) {
      storage.store(KvSide::key, storage.tokens() - count + i, head, row.data());
      storage.store(KvSide::value, storage.tokens() - count + i, head, row.data());
    }
  }
}

std::vector<int64_t> tokens_in(const KvStorage& storage) {
  std::vector<int64_t> tokens;
  std::vector<float> keys(static_cast<size_t>(storage.tokens() * 5));
  std::vector<float> values(static_cast<size_t>(storage.tokens() * 3));
  storage.load(KvSide::key, 1, 0, storage.tokens(), keys.data());
  storage.load(KvSide::value, 0, 0, storage.tokens(), values.data());
  for (int64_t i = 0; i < storage.tokens(); ++i) {
    const double key = static_cast<double>(keys[static_cast<size_t>(i * 5 + 4)]);
    EXPECT_EQ(key, static_cast<double>(values[static_cast<size_t>(i * 3 + 2)]));
    tokens.push_back(std::llround(key));
  }
  return tokens;
}

TEST(KvCacheStorage, KeepsTokensInEveryTypeAndRoom) {
  for (const KvType type : testing::kv_types) {
    for (const KvRoom& room : testing::kv_rooms) {
      KvStorage storage = storage_of(type, room);
      EXPECT_EQ(storage.memory().used, 0);
      write_tokens(storage, 0, 20);
      write_tokens(storage, 20, 1);
      const TokenRange some[] = {{0, 2}, {2, 2}, {5, 9}, {20, 21}};
      storage.keep(some);
      EXPECT_EQ(tokens_in(storage), (std::vector<int64_t>{0, 1, 5, 6, 7, 8, 20}));
      write_tokens(storage, 30, 9);
      EXPECT_EQ(tokens_in(storage),
                (std::vector<int64_t>{0, 1, 5, 6, 7, 8, 20, 30, 31, 32, 33, 34, 35, 36, 37, 38}));
      storage.keep({});
      EXPECT_EQ(storage.tokens(), 0);
      write_tokens(storage, 3, 2);
      EXPECT_EQ(tokens_in(storage), (std::vector<int64_t>{3, 4}));
    }
  }
}

TEST(KvCacheStorage, PagesComeAndGoWithTheirTokens) {
  KvStorage storage = storage_of(KvType::bfloat16, KvPaged{4});
  const int64_t page = 4 * 2 * (5 + 3) * 2;
  EXPECT_EQ(storage.memory().allocated, 0);
  write_tokens(storage, 0, 9);
  EXPECT_EQ(storage.memory().allocated, 3 * page);
  EXPECT_EQ(storage.memory().used, 9 * page / 4);
  // The page in the middle goes, one at an end stays for its last token.
  const TokenRange kept[] = {{0, 1}, {8, 9}};
  storage.keep(kept);
  EXPECT_EQ(storage.memory().allocated, 2 * page);
  // Three tokens fill up the last page, the next opens a new one in place of the one that went.
  write_tokens(storage, 9, 3);
  EXPECT_EQ(storage.memory().allocated, 2 * page);
  write_tokens(storage, 12, 1);
  EXPECT_EQ(storage.memory().allocated, 3 * page);
  EXPECT_EQ(tokens_in(storage), (std::vector<int64_t>{0, 8, 9, 10, 11, 12}));
  // Cut back into a page: it is filled from there on.
  const TokenRange two[] = {{0, 2}};
  storage.keep(two);
  EXPECT_EQ(storage.memory().allocated, 2 * page);
  write_tokens(storage, 50, 3);
  EXPECT_EQ(storage.memory().allocated, 2 * page);
  EXPECT_EQ(tokens_in(storage), (std::vector<int64_t>{0, 8, 50, 51, 52}));
}

TEST(KvCacheStorage, AWindowThatMovesOnNeedsNoMorePages) {
  KvStorage storage = storage_of(KvType::int8, KvPaged{4});
  write_tokens(storage, 0, 12);
  // Sinks hold one page, and ten tokens in a row lie in four at most.
  const int64_t most = storage.memory().allocated / 3 * 5;
  for (int64_t token = 12; token < 200; ++token) {
    const TokenRange kept[] = {{0, 2}, {3, 12}};
    storage.keep(kept);
    write_tokens(storage, token, 1);
    EXPECT_LE(storage.memory().allocated, most);
  }
  EXPECT_EQ(tokens_in(storage),
            (std::vector<int64_t>{0, 1, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199}));
}

TEST(KvCacheStorage, RowsOfAHeadLieOneAfterTheOther) {
  KvStorage storage = storage_of(KvType::float32, KvGrowing{2});
  EXPECT_EQ(storage.view(KvSide::key).data, nullptr);
  write_tokens(storage, 0, 6);
  for (const KvSide side : {KvSide::key, KvSide::value}) {
    const HeadsView view = storage.view(side);
    EXPECT_EQ(view.length, 6);
    EXPECT_EQ(view.length_stride, view.head_dim);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % 64, 0u);
    const auto* rows = static_cast<const float*>(view.data);
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t i = 0; i < 6 * view.head_dim; ++i) {
        EXPECT_EQ(rows[head * view.head_stride + i], static_cast<float>(i / view.head_dim));
      }
    }
  }
}

TEST(KvCacheStorage, SaysWhenThereIsNoRoom) {
  KvStorage storage = storage_of(KvType::float32, KvFixed{4});
  write_tokens(storage, 0, 3);
  EXPECT_EQ(testing::words_of(storage.append(2)),
            "kv_cache: 2 tokens beside 3: expected at most the capacity of 4");
  EXPECT_EQ(tokens_in(storage), (std::vector<int64_t>{0, 1, 2}));
  write_tokens(storage, 3, 1);
  const auto huge =
      KvStorage::make({1 << 20, 512, 512, KvType::float32, KvFixed{int64_t{1} << 31}});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().kind, ErrorKind::limit);
  EXPECT_EQ(huge.error().message,
            "kv_cache: 2147483648 tokens of 4294967296 bytes: expected less than 2^62 bytes");
}

}  // namespace
}  // namespace hodometer
