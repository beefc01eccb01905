// SPDX-License-Identifier: Apache-2.0
// Expected values are numpy's, of the same seven numbers.
#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace tvllm::bench {
namespace {

const std::vector<double> kValues = {0.31, 0.12, 0.58, 0.97, 0.44, 0.05, 0.76};

TEST(StatisticsTest, MeanAndDeviationAreNumpys) {
  EXPECT_DOUBLE_EQ(mean(kValues), 0.46142857142857135);
  EXPECT_DOUBLE_EQ(standard_deviation(kValues), 0.3096278213518644);
}

TEST(StatisticsTest, PercentilesAreNumpysInTheOrderAskedFor) {
  const std::vector<double> expected = {0.44, 0.05, 0.092, 0.215, 0.67, 0.844, 0.9574, 0.97};
  const std::vector<double> found =
      percentiles(kValues, std::vector<double>{50, 0, 10, 25, 75, 90, 99, 100});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

TEST(StatisticsTest, FewValuesAreNoSpecialCase) {
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{3.0, 1.0}, 50), 2.0);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{3.0, 1.0}, 99), 2.98);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7.0}, 99), 7.0);
  EXPECT_DOUBLE_EQ(standard_deviation(std::vector<double>{7.0}), 0.0);
}

TEST(StatisticsTest, NothingHasZeros) {
  EXPECT_EQ(mean({}), 0.0);
  EXPECT_EQ(standard_deviation({}), 0.0);
  EXPECT_EQ(percentile({}, 99), 0.0);
}

}  // namespace
}  // namespace tvllm::bench
