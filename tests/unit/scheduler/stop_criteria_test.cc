// SPDX-License-Identifier: Apache-2.0
#include "scheduler/stop_criteria.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tvllm::scheduler {
namespace {

constexpr TokenId kWord = 7;
constexpr TokenId kEosA = 2;
constexpr TokenId kEosB = 0;
constexpr TokenId kStopId = 9;
const std::vector<TokenId> kEosIds = {kEosA, kEosB};

constexpr StopDecision kGoesOn{};
constexpr StopDecision kAtEos{FinishReason::kStop, {}};
constexpr StopDecision kAtStopId{FinishReason::kStop, kStopId};
constexpr StopDecision kAtLength{FinishReason::kLength, {}};

SamplingParams params() {
  SamplingParams params;
  params.max_tokens = 100;
  params.stop_token_ids = {kStopId};
  return params;
}

StopDecision check(const SamplingParams& params, TokenId token_id, std::int32_t num_outputs,
                   std::int32_t limit = 100) {
  return check_stop(params, kEosIds, token_id, num_outputs, limit);
}

TEST(StopCriteriaTest, GoesOnAfterAnOrdinaryToken) {
  EXPECT_EQ(check(params(), kWord, 1), kGoesOn);
  EXPECT_EQ(check(params(), kWord, 99), kGoesOn);
}

TEST(StopCriteriaTest, StopsAtEveryEosIdWithoutNamingIt) {
  EXPECT_EQ(check(params(), kEosA, 1), kAtEos);
  EXPECT_EQ(check(params(), kEosB, 1), kAtEos);
}

TEST(StopCriteriaTest, IgnoresEosWhenAskedButNotStopIds) {
  SamplingParams p = params();
  p.ignore_eos = true;
  EXPECT_EQ(check(p, kEosA, 1), kGoesOn);
  EXPECT_EQ(check(p, kStopId, 1), kAtStopId);
  p.stop_token_ids = {kEosA};
  EXPECT_EQ(check(p, kEosA, 1), (StopDecision{FinishReason::kStop, kEosA}));
}

TEST(StopCriteriaTest, NamesTheStopIdThatEndedTheSequence) {
  EXPECT_EQ(check(params(), kStopId, 3), kAtStopId);
}

TEST(StopCriteriaTest, StopsNowhereBeforeMinTokens) {
  SamplingParams p = params();
  p.min_tokens = 5;
  EXPECT_EQ(check(p, kEosA, 4), kGoesOn);
  EXPECT_EQ(check(p, kStopId, 4), kGoesOn);
  EXPECT_EQ(check(p, kEosA, 5), kAtEos);
  EXPECT_EQ(check(p, kStopId, 5), kAtStopId);
}

TEST(StopCriteriaTest, EndsAtTheLengthAndNotBefore) {
  EXPECT_EQ(check(params(), kWord, 7, 8), kGoesOn);
  EXPECT_EQ(check(params(), kWord, 8, 8), kAtLength);
}

TEST(StopCriteriaTest, EndsAtTheModelsLengthEvenBeforeMinTokens) {
  SamplingParams p = params();
  p.min_tokens = 50;
  EXPECT_EQ(check(p, kWord, 8, 8), kAtLength);
  EXPECT_EQ(check(p, kEosA, 8, 8), kAtLength);
}

TEST(StopCriteriaTest, PrefersTheStopOnTheLastAllowedPlace) {
  EXPECT_EQ(check(params(), kEosA, 8, 8), kAtEos);
  EXPECT_EQ(check(params(), kStopId, 8, 8), kAtStopId);
}

TEST(StopCriteriaTest, WorksWithoutAnyStopIds) {
  EXPECT_EQ(check_stop(SamplingParams{}, {}, kEosA, 1, 16), kGoesOn);
}

TEST(StopCriteriaTest, LimitsOutputsByTheRequestOrByWhatThePromptLeaves) {
  SamplingParams p;
  p.max_tokens = 10;
  EXPECT_EQ(max_output_tokens(p, 20, 64), 10);
  EXPECT_EQ(max_output_tokens(p, 54, 64), 10);
  EXPECT_EQ(max_output_tokens(p, 55, 64), 9);
  EXPECT_EQ(max_output_tokens(p, 63, 64), 1);
  p.max_tokens = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(max_output_tokens(p, 1, std::numeric_limits<std::int32_t>::max()),
            std::numeric_limits<std::int32_t>::max() - 1);
}

}  // namespace
}  // namespace tvllm::scheduler
