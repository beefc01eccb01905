// SPDX-License-Identifier: Apache-2.0
#include "bench/random_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "bench/statistics.h"

namespace tvllm::bench {
namespace {

std::vector<double> draw(int count, const std::function<double()>& next) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::generate(values.begin(), values.end(), next);
  return values;
}

TEST(RandomSourceTest, TheSameSeedGivesTheSameNumbersAndAnotherOthers) {
  RandomSource first(7);
  RandomSource again(7);
  RandomSource other(8);
  RandomSource other_stream(7, 1);
  const auto words = [](RandomSource& source) {
    std::vector<std::uint32_t> out(9);
    std::generate(out.begin(), out.end(), [&source] { return source.next_word(); });
    return out;
  };
  const std::vector<std::uint32_t> expected = words(first);
  EXPECT_EQ(words(again), expected);
  EXPECT_NE(words(other), expected);
  EXPECT_NE(words(other_stream), expected);
}

TEST(RandomSourceTest, WholeNumbersReachBothEndsAndNothingElse) {
  RandomSource random(1);
  std::array<int, 7> counts = {};
  for (int i = 0; i < 7000; ++i) {
    const std::int64_t value = random.uniform_int(-3, 3);
    ASSERT_GE(value, -3);
    ASSERT_LE(value, 3);
    ++counts[static_cast<std::size_t>(value + 3)];
  }
  for (const int count : counts)
    EXPECT_NEAR(count, 1000, 150);  // five deviations
  EXPECT_EQ(random.uniform_int(5, 5), 5);
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(random.uniform_int(kMin, kMax), random.uniform_int(kMin, kMax));
}

// A sample of 20,000 has its mean within 4 deviations / sqrt(20,000) of the right one.
TEST(RandomSourceTest, DistributionsHaveTheirMeanAndDeviation) {
  constexpr int kCount = 20'000;
  RandomSource random(3);
  const std::vector<double> uniform = draw(kCount, [&] { return random.uniform(); });
  EXPECT_NEAR(mean(uniform), 0.5, 0.009);
  EXPECT_NEAR(standard_deviation(uniform), 0.2887, 0.009);
  const std::vector<double> exponential = draw(kCount, [&] { return random.exponential(); });
  EXPECT_NEAR(mean(exponential), 1.0, 0.03);
  EXPECT_NEAR(percentile(exponential, 50), 0.6931, 0.03);
  const std::vector<double> normal = draw(kCount, [&] { return random.normal(); });
  EXPECT_NEAR(mean(normal), 0.0, 0.03);
  EXPECT_NEAR(standard_deviation(normal), 1.0, 0.03);
  for (const double shape : {0.25, 1.0, 4.0}) {
    const std::vector<double> gamma = draw(kCount, [&] { return random.gamma(shape); });
    EXPECT_NEAR(mean(gamma), shape, 0.03 * std::max(1.0, std::sqrt(shape))) << shape;
    EXPECT_NEAR(standard_deviation(gamma), std::sqrt(shape), 0.06 * std::max(1.0, shape)) << shape;
    EXPECT_GT(*std::min_element(gamma.begin(), gamma.end()), 0.0) << shape;
  }
}

TEST(RandomSourceTest, ShufflingKeepsWhatIsThere) {
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> before = items;
  RandomSource random(5);
  random.shuffle(items);
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
}

}  // namespace
}  // namespace tvllm::bench
