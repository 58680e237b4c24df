#include "hodometer/kernels/table_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "hodometer/kernels/attention_forward.h"
#include "hodometer/kernels/every_target_test.h"

namespace hodometer {
namespace {

TEST(TableScores, AreDotProducts) {
  on_every_target([] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (const int64_t dim : {1, 4, 20, 128}) {
      for (const int64_t rows : {1, 3, 13, 40}) {
        for (const int64_t num_rows : {1, 9, 33, 257}) {
          const auto floats = [&](int64_t count) {
            std::vector<float> values(static_cast<size_t>(count));
            for (float& value : values) value = normal(random);
            return values;
          };
          const std::vector<float> queries = floats(rows * dim), table = floats(num_rows * dim);
          const int64_t stride = whole_panels(num_rows);
          std::vector<float> panel(static_cast<size_t>(table_panel_size(dim)));
          std::vector<float> scores(static_cast<size_t>(rows * stride), NAN);
          table_scores(queries.data(), rows, dim, table.data(), num_rows, panel.data(),
                       scores.data(), stride);
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t t = 0; t < num_rows; ++t) {
              double want = 0, size = 0;
              for (int64_t i = 0; i < dim; ++i) {
                const double product =
                    static_cast<double>(queries[static_cast<size_t>(r * dim + i)]) *
                    static_cast<double>(table[static_cast<size_t>(t * dim + i)]);
                want += product;
                size += std::abs(product);
              }
              ASSERT_NEAR(scores[static_cast<size_t>(r * stride + t)], want, 4e-7 * size);
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace hodometer
