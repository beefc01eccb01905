// SPDX-License-Identifier: Apache-2.0
#include "sampling/random_draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "sampling/row_math.h"
#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

std::size_t draw(const std::vector<float>& weights, double uniform) {
  std::vector<double> sums(num_sum_blocks(weights.size()));
  return draw_index(weights, uniform, sums);
}

TEST(RandomDrawTest, TheNumberIsThatOfPhiloxVectorsOfRandom123) {
  // kat_vectors: philox4x32 10, counter 0 key 0 -> 6627e8d5 e169c58d ...
  EXPECT_EQ(uniform_at(0, 0, 0), static_cast<double>(0x6627e8d5e169c58dULL >> 11) * 0x1.0p-53);
  // old_kat_vectors: counter (0, 1, 0, 0), key (1, 0) -> 833ff8dc 225c963c ...
  EXPECT_EQ(uniform_at(1, 1, 0), static_cast<double>(0x833ff8dc225c963cULL >> 11) * 0x1.0p-53);
  // counter (1, 0, 0, 0), key (1, 0) -> ac08141b dfc5ccbe ...
  EXPECT_EQ(uniform_at(1, 0, 1), static_cast<double>(0xac08141bdfc5ccbeULL >> 11) * 0x1.0p-53);
  // counter (1, 0, 0, 0), key (0, 1) -> ccf3076a 6306f434 ...
  EXPECT_EQ(uniform_at(std::uint64_t{1} << 32, 0, 1),
            static_cast<double>(0xccf3076a6306f434ULL >> 11) * 0x1.0p-53);
}

TEST(RandomDrawTest, SeedsChoicesAndPositionsGiveDifferentNumbers) {
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint32_t choice = 0; choice < 20; ++choice) {
      for (std::int32_t position = 0; position < 20; ++position)
        seen.insert(uniform_at(seed, choice, position));
    }
  }
  EXPECT_EQ(seen.size(), 8000u);
  EXPECT_GE(*seen.begin(), 0.0);
  EXPECT_LT(*seen.rbegin(), 1.0);
}

TEST(RandomDrawTest, IntervalsStandInOrderOfIndex) {
  const std::vector<float> weights = {0.0f, 0.25f, 0.0f, 0.5f, 0.25f, 0.0f};
  EXPECT_EQ(draw(weights, 0.0), 1u);
  EXPECT_EQ(draw(weights, std::nextafter(0.25, 0.0)), 1u);
  EXPECT_EQ(draw(weights, 0.25), 3u);
  EXPECT_EQ(draw(weights, std::nextafter(0.75, 0.0)), 3u);
  EXPECT_EQ(draw(weights, 0.75), 4u);
  EXPECT_EQ(draw(weights, std::nextafter(1.0, 0.0)), 4u);
}

TEST(RandomDrawTest, NeverPicksAWeightOfZeroEvenAtTheEnds) {
  for (const std::size_t at : {0u, 255u, 256u, 700u, 999u}) {
    std::vector<float> weights(1000, 0.0f);
    weights[at] = 1e-30f;
    for (const double uniform : {0.0, 0.5, std::nextafter(1.0, 0.0), 1.0})
      EXPECT_EQ(draw(weights, uniform), at);
  }
}

TEST(RandomDrawTest, RoundingAtTheEndStaysOnTheLastWeight) {
  std::vector<float> weights = random_row(5000, 1.0f, 11);
  for (float& w : weights)
    w = std::abs(w);
  weights[4990] = 0.3f;
  for (std::size_t i = 4991; i < weights.size(); ++i)
    weights[i] = 0.0f;
  EXPECT_EQ(draw(weights, std::nextafter(1.0, 0.0)), 4990u);
  EXPECT_EQ(draw(weights, 1.0), 4990u);
}

TEST(RandomDrawTest, AgreesWithARunningSumOverTheWholeRow) {
  std::vector<float> weights = random_row(3000, 1.0f, 12);
  for (float& w : weights)
    w = std::max(0.0f, w);
  double total = 0;
  for (const float w : weights)
    total += static_cast<double>(w);
  for (int i = 0; i < 2000; ++i) {
    const double uniform = uniform_at(5, 0, i);
    double sum = 0;
    std::size_t expected = 0;
    while (sum + static_cast<double>(weights[expected]) <= uniform * total)
      sum += static_cast<double>(weights[expected++]);
    ASSERT_EQ(draw(weights, uniform), expected) << uniform;
  }
}

TEST(RandomDrawTest, NumbersOfConsecutivePositionsAreUniform) {
  std::vector<std::int64_t> counts(1000, 0);
  for (int i = 0; i < 100000; ++i)
    ++counts[static_cast<std::size_t>(uniform_at(42, 3, i) * 1000)];
  EXPECT_GT(fit_p_value(counts, std::vector<double>(1000, 0.001)), 1e-4);
}

}  // namespace
}  // namespace tvllm::sampling
