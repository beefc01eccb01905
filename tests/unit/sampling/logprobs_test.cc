// SPDX-License-Identifier: Apache-2.0
#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/sampling_params.h"
#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

PositionLogprobs logprobs_of(const std::vector<float>& row, TokenId id, std::int32_t num_top) {
  SamplerScratch scratch(row.size());
  return position_logprobs(row, id, num_top, scratch);
}

void expect_log_softmax(const std::vector<float>& row, std::int32_t num_top) {
  const std::vector<double> p = reference_softmax(row, 1.0);
  const std::vector<TokenId> order = reference_order(row);
  const auto expected = [&](TokenId id) {
    return std::max(-9999.0, std::log(p[static_cast<std::size_t>(id)]));
  };
  for (const std::size_t place : {std::size_t{0}, order.size() / 2, order.size() - 1}) {
    const PositionLogprobs got = logprobs_of(row, order[place], num_top);
    ASSERT_EQ(got.token.token_id, order[place]);
    ASSERT_EQ(got.token.rank, static_cast<std::int32_t>(place) + 1);
    ASSERT_NEAR(got.token.logprob, expected(order[place]), 1e-5);
    ASSERT_EQ(got.top.size(), std::min(row.size(), static_cast<std::size_t>(num_top)));
    for (std::size_t i = 0; i < got.top.size(); ++i) {
      ASSERT_EQ(got.top[i].token_id, order[i]);
      ASSERT_EQ(got.top[i].rank, static_cast<std::int32_t>(i) + 1);
      ASSERT_NEAR(got.top[i].logprob, expected(order[i]), 1e-5);
    }
  }
}

TEST(LogprobsTest, AgreeWithLogSoftmaxInDoublePrecision) {
  for (const std::size_t size : {1u, 2u, 100u, 49152u, 262144u}) {
    expect_log_softmax(random_row(size, 3.0f, 1), 20);
    expect_log_softmax(tied_row(size, 9, 2), 5);
  }
}

TEST(LogprobsTest, TheSumOfAllProbabilitiesIsOne) {
  const PositionLogprobs all = logprobs_of(random_row(3000, 4.0f, 3), 0, kAllLogprobs);
  ASSERT_EQ(all.top.size(), 3000u);
  double sum = 0;
  for (std::size_t i = 0; i < all.top.size(); ++i) {
    sum += std::exp(static_cast<double>(all.top[i].logprob));
    ASSERT_LE(all.top[i].logprob, all.top[i == 0 ? 0 : i - 1].logprob);
  }
  EXPECT_NEAR(sum, 1.0, 1e-6);
}

TEST(LogprobsTest, ZeroBestTokensIsTheChosenOneAlone) {
  const PositionLogprobs got = logprobs_of({0.0f, 0.0f}, 1, 0);
  EXPECT_TRUE(got.top.empty());
  EXPECT_NEAR(got.token.logprob, std::log(0.5), 1e-7);
  EXPECT_EQ(got.token.rank, 2);
}

TEST(LogprobsTest, MoreThanTheVocabularyIsTheVocabulary) {
  EXPECT_EQ(logprobs_of({1, 2, 3}, 0, 20).top.size(), 3u);
}

TEST(LogprobsTest, AreNeverBelowTheFloorNorAboveZero) {
  const std::vector<float> row = {-kInfinity, 0.0f, -1e30f, -20000.0f, -5000.0f};
  const PositionLogprobs got = logprobs_of(row, 0, 5);
  EXPECT_EQ(got.token.logprob, kMinLogprob);
  EXPECT_EQ(got.token.rank, 5);
  const std::vector<float> expected = {0.0f, -5000.0f, -9999.0f, -9999.0f, -9999.0f};
  ASSERT_EQ(got.top.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(got.top[i].logprob, expected[i]);
  EXPECT_EQ(got.top[4].token_id, 0);
}

TEST(LogprobsTest, HugeLogitsDoNotOverflow) {
  const PositionLogprobs got = logprobs_of({3e38f, -3e38f, 3e38f}, 2, 3);
  EXPECT_NEAR(got.token.logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(got.token.rank, 2);
  EXPECT_EQ(got.top[2].logprob, kMinLogprob);
}

TEST(LogprobsTest, PlusInfinityIsACertainty) {
  const PositionLogprobs got = logprobs_of({1.0f, kInfinity, kInfinity, 3.0f}, 1, 4);
  EXPECT_NEAR(got.token.logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(got.top[1].token_id, 2);
  EXPECT_EQ(got.top[2].token_id, 3);
  EXPECT_EQ(got.top[2].logprob, kMinLogprob);
}

TEST(LogprobsTest, AnInvalidRowGivesFiniteNumbers) {
  for (const std::vector<float>& row :
       {std::vector<float>{0.0f, std::nanf(""), 1.0f}, std::vector<float>(3, -kInfinity), {}}) {
    const PositionLogprobs got = logprobs_of(row, 2, 2);
    EXPECT_EQ(got.token.logprob, kMinLogprob);
    EXPECT_EQ(got.token.rank, 0);
    EXPECT_TRUE(got.top.empty());
  }
}

TEST(LogprobsTest, ATokenOutsideTheRowHasTheFloor) {
  for (const TokenId id : {-1, 3, 1000000}) {
    const PositionLogprobs got = logprobs_of({1, 2, 3}, id, 1);
    EXPECT_EQ(got.token.logprob, kMinLogprob);
    ASSERT_EQ(got.top.size(), 1u);
    EXPECT_EQ(got.top[0].token_id, 2);
  }
}

}  // namespace
}  // namespace tvllm::sampling
