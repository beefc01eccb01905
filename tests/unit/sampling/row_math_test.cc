// SPDX-License-Identifier: Apache-2.0
#include "sampling/row_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(RowMathTest, ScanFindsTheMaximumAtEveryPlaceOfEverySize) {
  for (std::size_t size = 1; size <= 70; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> row(size, -2.0f);
      row[at] = -1.0f;
      const RowStats stats = scan_row(row);
      ASSERT_EQ(stats.max, -1.0f);
      ASSERT_EQ(stats.argmax, static_cast<TokenId>(at)) << "size " << size;
      ASSERT_FALSE(stats.has_nan);
    }
  }
}

TEST(RowMathTest, ScanTakesTheLowestOfEqualMaxima) {
  for (const std::size_t second : {1u, 5u, 1023u, 1024u, 1025u, 3000u}) {
    std::vector<float> row(4000, 0.0f);
    row[second] = 7.0f;
    row[3999] = 7.0f;
    EXPECT_EQ(scan_row(row).argmax, static_cast<TokenId>(second));
  }
  EXPECT_EQ(scan_row(std::vector<float>(5000, 0.0f)).argmax, 0);
  EXPECT_EQ(scan_row(std::vector<float>{-0.0f, 0.0f}).argmax, 0);
}

TEST(RowMathTest, ScanFindsANanAtEveryPlace) {
  for (std::size_t at = 0; at < 70; ++at) {
    std::vector<float> row(70, 1.0f);
    row[at] = kNaN;
    ASSERT_TRUE(scan_row(row).has_nan) << at;
    ASSERT_FALSE(scan_row(row).is_valid());
  }
  std::vector<float> row(2000, 1.0f);
  row[1999] = -kNaN;
  EXPECT_FALSE(scan_row(row).is_valid());
}

TEST(RowMathTest, ARowOfNothingButMinusInfinityIsInvalid) {
  EXPECT_FALSE(scan_row(std::vector<float>(100, -kInfinity)).is_valid());
  EXPECT_FALSE(scan_row({}).is_valid());
  std::vector<float> row(100, -kInfinity);
  row[63] = -3e38f;
  EXPECT_TRUE(scan_row(row).is_valid());
  EXPECT_EQ(scan_row(row).argmax, 63);
  row[70] = kInfinity;
  EXPECT_TRUE(scan_row(row).is_valid());
  EXPECT_EQ(scan_row(row).argmax, 70);
}

TEST(RowMathTest, ExponentialsAgreeWithTheStandardLibrary) {
  std::vector<float> logits;
  for (int i = 0; i <= 200000; ++i)
    logits.push_back(static_cast<float>(-87.3 * i / 200000));
  std::vector<float> weights(logits.size());
  exp_row(logits, 0.0f, 1.0f, weights);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double exact = std::exp(static_cast<double>(logits[i]));
    ASSERT_NEAR(static_cast<double>(weights[i]) / exact, 1.0, 3e-7) << logits[i];
  }
  EXPECT_EQ(weights[0], 1.0f);
}

TEST(RowMathTest, ExponentialsUnderflowToZeroAndNeverOverflow) {
  const std::vector<float> logits = {3e38f, 0.0f, -3e38f, -kInfinity, 3e38f - 1e32f};
  std::vector<float> weights(5);
  exp_row(logits, 3e38f, 100.0f, weights);
  EXPECT_EQ(weights, (std::vector<float>{1, 0, 0, 0, 0}));
  const std::vector<float> low = {-87.4f, -88.0f, -103.0f, -104.0f, -1e4f, 0.0f};
  weights.resize(6);
  exp_row(low, 0.0f, 1.0f, weights);
  EXPECT_EQ(weights, (std::vector<float>{0, 0, 0, 0, 0, 1}));
}

TEST(RowMathTest, PlusInfinityIsACertainty) {
  const std::vector<float> logits = {1.0f, kInfinity, 3e38f, kInfinity, -kInfinity};
  std::vector<float> weights(5);
  exp_row(logits, kInfinity, 0.7f, weights);
  EXPECT_EQ(weights, (std::vector<float>{0, 1, 0, 1, 0}));
  EXPECT_EQ(sum_exp(logits, kInfinity), 2.0);
}

TEST(RowMathTest, AWeightDoesNotDependOnItsPlaceInTheRow) {
  const std::vector<float> row = random_row(101, 5.0f, 1);
  std::vector<float> whole(row.size());
  exp_row(row, 20.0f, 0.8f, whole);
  for (std::size_t i = 0; i < row.size(); ++i) {
    float alone = -1;
    exp_row({&row[i], 1}, 20.0f, 0.8f, {&alone, 1});
    ASSERT_EQ(alone, whole[i]);
  }
}

TEST(RowMathTest, SumsAreThoseOfDoublePrecision) {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 255u, 256u, 257u, 1000u, 49152u}) {
    const std::vector<float> row = random_row(size, 3.0f, 2);
    std::vector<float> weights(size);
    exp_row(row, 15.0f, 1.0f, weights);
    double exact = 0;
    double exact_of_exp = 0;
    for (std::size_t i = 0; i < size; ++i) {
      exact += static_cast<double>(weights[i]);
      exact_of_exp += std::exp(static_cast<double>(row[i]) - 15.0);
    }
    std::vector<double> sums(num_sum_blocks(size));
    EXPECT_NEAR(sum_blocks(weights, sums) / exact, 1.0, 1e-13);
    EXPECT_NEAR(sum_exp(row, 15.0f) / exact_of_exp, 1.0, 1e-6);
  }
}

TEST(RowMathTest, BlockMaximaAreTheMaximaOfTheirBlocks) {
  for (const std::size_t size : {1u, 31u, 32u, 33u, 100u, 1000u}) {
    const std::vector<float> row = random_row(size, 3.0f, 3);
    std::vector<float> maxima(num_max_blocks(size));
    max_blocks(row, maxima);
    for (std::size_t b = 0; b < maxima.size(); ++b) {
      const auto begin = row.begin() + static_cast<std::ptrdiff_t>(b * kMaxBlock);
      const auto end =
          row.begin() + static_cast<std::ptrdiff_t>(std::min(size, (b + 1) * kMaxBlock));
      ASSERT_EQ(maxima[b], *std::max_element(begin, end));
    }
  }
}

TEST(RowMathTest, CollectKeepsAllThatReachTheThresholdInOrder) {
  for (const std::size_t size : {1u, 15u, 16u, 17u, 100u, 1000u}) {
    const std::vector<float> row = tied_row(size, 40, 4);
    for (const float threshold : {-1.0f, 10.0f, 19.5f, 19.75f, -kInfinity}) {
      std::vector<TokenId> ids(size);
      std::vector<float> kept(size);
      const std::size_t n = collect_at_least(row, threshold, ids, kept);
      std::size_t expected = 0;
      for (std::size_t i = 0; i < size; ++i) {
        if (row[i] < threshold) continue;
        ASSERT_EQ(ids[expected], static_cast<TokenId>(i));
        ASSERT_EQ(kept[expected], row[i]);
        ++expected;
      }
      ASSERT_EQ(n, expected);
    }
  }
}

TEST(RowMathTest, CountBeforeIsThePlaceInTheSortedRow) {
  const std::vector<float> row = tied_row(500, 30, 5);
  const std::vector<TokenId> order = reference_order(row);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto id = static_cast<std::size_t>(order[place]);
    ASSERT_EQ(count_before(row, row[id], id), place);
  }
}

}  // namespace
}  // namespace tvllm::sampling
