// SPDX-License-Identifier: Apache-2.0
#include "sampling/logits_pipeline.h"

#include <gtest/gtest.h>

#include <vector>

#include "sampling/row_math.h"
#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

constexpr std::int32_t kVocabSize = 8;

SamplerState make_state(SamplingParams params, std::vector<TokenId> known = {1},
                        std::size_t prompt_len = 1, std::vector<TokenId> eos = {0, 2}) {
  SamplerState state;
  std::vector<TokenId> prompt(known.begin(),
                              known.begin() + static_cast<std::ptrdiff_t>(prompt_len));
  state.begin(make_request(std::move(params), std::move(prompt)), eos, known, kVocabSize);
  return state;
}

std::vector<float> edited(const SamplerState& state, std::int32_t output_idx,
                          std::vector<float> row) {
  SamplerScratch scratch(row.size());
  const std::vector<float> before = row;
  edit_logits(row, state, output_idx, scratch);
  std::vector<float> after = row;
  restore_logits(row, scratch);
  EXPECT_EQ(row, before);
  return after;
}

TEST(LogitsPipelineTest, NothingAskedChangesNothing) {
  std::vector<float> row = {1, 2, 3, 4, 5, 6, 7, 8};
  SamplerScratch scratch(row.size());
  EXPECT_FALSE(edit_logits(row, make_state({}), 0, scratch));
  EXPECT_EQ(row, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(LogitsPipelineTest, BiasIsAdded) {
  SamplingParams params;
  params.logit_bias = {{3, 100.0f}, {0, -100.0f}, {7, 0.5f}};
  EXPECT_EQ(edited(make_state(params), 0, {1, 2, 3, 4, 5, 6, 7, 8}),
            (std::vector<float>{-99, 2, 3, 104, 5, 6, 7, 8.5}));
}

TEST(LogitsPipelineTest, MinTokensMasksEosAndStopIdsUntilThen) {
  SamplingParams params;
  params.min_tokens = 3;
  params.stop_token_ids = {5, 2};
  const SamplerState state = make_state(params);
  constexpr float kMasked = kNegativeInfinity;
  const std::vector<float> row = {1, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<float> masked = {kMasked, 1, kMasked, 1, 1, kMasked, 1, 1};
  EXPECT_EQ(edited(state, 0, row), masked);
  EXPECT_EQ(edited(state, 2, row), masked);
  EXPECT_EQ(edited(state, 3, row), row);
}

TEST(LogitsPipelineTest, IgnoreEosAloneMasksNothing) {
  SamplingParams params;
  params.ignore_eos = true;
  const std::vector<float> row = {9, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(edited(make_state(params), 0, row), row);
  params.min_tokens = 1;
  EXPECT_EQ(edited(make_state(params), 0, row)[0], kNegativeInfinity);
  EXPECT_EQ(edited(make_state(params), 1, row)[0], 9.0f);
}

TEST(LogitsPipelineTest, AMaskedTokenIsNotBroughtBackByItsBias) {
  SamplingParams params;
  params.min_tokens = 1;
  params.logit_bias = {{2, 100.0f}};
  EXPECT_EQ(edited(make_state(params), 0, std::vector<float>(8, 0.0f))[2], kNegativeInfinity);
}

TEST(LogitsPipelineTest, RepetitionSeesPromptAndOutputTheOthersTheOutputAlone) {
  SamplingParams params;
  params.repetition_penalty = 2.0f;
  params.frequency_penalty = 0.5f;
  params.presence_penalty = 0.25f;
  // Prompt 4 4 5; output 5 6 6.
  const SamplerState state = make_state(params, {4, 4, 5, 5, 6, 6}, 3);
  EXPECT_EQ(edited(state, 3, {1, 1, 1, 1, 4, 4, -1, 1}),
            (std::vector<float>{1, 1, 1, 1, 4.0f / 2, 4.0f / 2 - 0.5f - 0.25f,
                                -1.0f * 2 - 2 * 0.5f - 0.25f, 1}));
}

TEST(LogitsPipelineTest, PenaltiesApplyToTheBiasedLogit) {
  SamplingParams params;
  params.repetition_penalty = 2.0f;
  params.logit_bias = {{1, 3.0f}};
  EXPECT_EQ(edited(make_state(params), 0, std::vector<float>(8, 1.0f))[1], (1.0f + 3.0f) / 2);
}

TEST(LogitsPipelineTest, IdsOutsideTheRowAreIgnored) {
  SamplingParams params;
  params.min_tokens = 1;
  params.presence_penalty = 1.0f;
  params.repetition_penalty = 2.0f;
  params.stop_token_ids = {-1, 8, 1000000};
  params.logit_bias = {{-5, 1.0f}, {8, 1.0f}};
  SamplerState state = make_state(params, {1, -7, 8, 2000000}, 2, {8, -1});
  state.append(-1);
  state.append(8);
  const std::vector<float> row = {1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(edited(state, 0, row), (std::vector<float>{1, 0.5, 1, 1, 1, 1, 1, 1}));
}

TEST(SamplerStateTest, ResumingAfterAPreemptionGivesTheSameStateAsGoingOn) {
  SamplingParams params;
  params.repetition_penalty = 1.3f;
  params.frequency_penalty = 0.2f;
  SamplerState going_on = make_state(params, {1, 2, 3}, 3);
  for (const TokenId id : {3, 6, 6, 7})
    going_on.append(id);
  const SamplerState resumed = make_state(params, {1, 2, 3, 3, 6, 6, 7}, 3);
  const std::vector<float> row = random_row(8, 2.0f, 1);
  EXPECT_EQ(edited(going_on, 4, row), edited(resumed, 4, row));
}

TEST(SamplerStateTest, ASlotForgetsTheSequenceThatLeftIt) {
  SamplingParams params;
  params.presence_penalty = 1.0f;
  params.min_tokens = 5;
  SamplerState state = make_state(params, {1, 2, 3}, 1);
  EXPECT_TRUE(state.is_active());
  state.end();
  EXPECT_FALSE(state.is_active());
  params.min_tokens = 0;
  state.begin(make_request(params), {}, std::vector<TokenId>{1}, kVocabSize);
  const std::vector<float> row = random_row(8, 2.0f, 1);
  EXPECT_EQ(edited(state, 0, row), row);
}

TEST(SamplerStateTest, ASequenceWithoutPenaltiesCountsNothing) {
  SamplerState state = make_state({}, {1, 2, 3}, 1);
  state.append(4);
  EXPECT_TRUE(state.counts().entries().empty());
}

}  // namespace
}  // namespace tvllm::sampling
