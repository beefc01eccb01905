// SPDX-License-Identifier: Apache-2.0
#include "core/sampling_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace tvllm {
namespace {

constexpr std::int32_t kVocabSize = 100;
constexpr std::int32_t kMaxLogprobs = 20;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Change = std::function<void(SamplingParams&)>;

SamplingParams accepted(const Change& change) {
  SamplingParams params;
  change(params);
  const Status status = normalize_sampling_params(params, kVocabSize, kMaxLogprobs);
  EXPECT_TRUE(status.has_value()) << (status.has_value() ? "" : status.error().message);
  return params;
}

void expect_refused(const std::string& param, const Change& change,
                    std::int32_t max_logprobs = kMaxLogprobs) {
  SamplingParams params;
  change(params);
  const Status status = normalize_sampling_params(params, kVocabSize, max_logprobs);
  ASSERT_FALSE(status.has_value()) << param;
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().param, param);
  EXPECT_NE(status.error().message.find(param), std::string::npos) << status.error().message;
}

template <typename T>
void expect_range(const std::string& param, T SamplingParams::*field, std::vector<T> good,
                  std::vector<T> bad) {
  for (const T value : good)
    accepted([&](SamplingParams& p) { p.*field = value; });
  for (const T value : bad)
    expect_refused(param, [&](SamplingParams& p) { p.*field = value; });
}

TEST(SamplingParamsTest, DefaultsAreAcceptedAsTheyAre) {
  const SamplingParams params = accepted([](SamplingParams&) {});
  EXPECT_EQ(params.temperature, 1.0f);
  EXPECT_EQ(params.top_p, 1.0f);
  EXPECT_EQ(params.top_k, 0);
}

TEST(SamplingParamsTest, RangesAreCheckedAtAndPastTheirEnds) {
  const float above_one = std::nextafter(1.0f, 2.0f);
  const float above_two = std::nextafter(2.0f, 3.0f);
  expect_range<float>("temperature", &SamplingParams::temperature, {0.0f, 1e-30f, 2.0f},
                      {-1e-30f, above_two, kInfinity, -kInfinity, kNaN});
  expect_range<float>("top_p", &SamplingParams::top_p, {1e-30f, 1.0f},
                      {0.0f, -0.1f, above_one, kInfinity, kNaN});
  expect_range<float>("min_p", &SamplingParams::min_p, {0.0f, 1.0f}, {-1e-30f, above_one, kNaN});
  expect_range<float>("presence_penalty", &SamplingParams::presence_penalty, {-2.0f, 2.0f},
                      {-above_two, above_two, kNaN});
  expect_range<float>("frequency_penalty", &SamplingParams::frequency_penalty, {-2.0f, 2.0f},
                      {-above_two, above_two, kNaN});
  expect_range<float>("repetition_penalty", &SamplingParams::repetition_penalty, {1e-30f, 1e30f},
                      {0.0f, -1.0f, kInfinity, kNaN});
  expect_range<std::int32_t>("top_k", &SamplingParams::top_k,
                             {-1, 0, 1, std::numeric_limits<std::int32_t>::max()},
                             {-2, std::numeric_limits<std::int32_t>::min()});
  expect_range<std::int32_t>("max_tokens", &SamplingParams::max_tokens,
                             {1, std::numeric_limits<std::int32_t>::max()}, {0, -1});
  expect_range<std::int32_t>("min_tokens", &SamplingParams::min_tokens, {0, 16}, {-1, 17});
}

TEST(SamplingParamsTest, GreedyTurnsTheOtherCutsOff) {
  for (const float temperature : {0.0f, 1e-30f, 0.99e-5f}) {
    const SamplingParams params = accepted([&](SamplingParams& p) {
      p.temperature = temperature;
      p.top_p = 0.5f;
      p.top_k = 7;
      p.min_p = 0.3f;
    });
    EXPECT_TRUE(params.is_greedy());
    EXPECT_EQ(params.temperature, 0.0f);
    EXPECT_EQ(params.top_p, 1.0f);
    EXPECT_EQ(params.top_k, 0);
    EXPECT_EQ(params.min_p, 0.0f);
  }
}

TEST(SamplingParamsTest, ATinyTemperatureIsRaised) {
  for (const float temperature : {1e-5f, 0.005f, 0.01f})
    EXPECT_EQ(accepted([&](SamplingParams& p) { p.temperature = temperature; }).temperature, 0.01f);
  EXPECT_EQ(accepted([](SamplingParams& p) { p.temperature = 0.02f; }).temperature, 0.02f);
}

TEST(SamplingParamsTest, TopKOfTheVocabularyOrMoreIsOff) {
  const auto effective = [](std::int32_t top_k) {
    return accepted([&](SamplingParams& p) { p.top_k = top_k; }).top_k;
  };
  EXPECT_EQ(effective(-1), 0);
  EXPECT_EQ(effective(kVocabSize - 1), kVocabSize - 1);
  EXPECT_EQ(effective(kVocabSize), 0);
  EXPECT_EQ(effective(1000000), 0);
}

TEST(SamplingParamsTest, BiasesAreClampedAndTheirIdsChecked) {
  const SamplingParams params = accepted([](SamplingParams& p) {
    p.logit_bias = {{0, 1e9f}, {kVocabSize - 1, -1e9f}, {5, 100.0f}, {6, -0.5f}};
  });
  EXPECT_EQ(params.logit_bias,
            (std::vector<std::pair<TokenId, float>>{
                {0, 100.0f}, {kVocabSize - 1, -100.0f}, {5, 100.0f}, {6, -0.5f}}));
  expect_refused("logit_bias", [](SamplingParams& p) { p.logit_bias = {{kVocabSize, 1.0f}}; });
  expect_refused("logit_bias", [](SamplingParams& p) { p.logit_bias = {{-1, 1.0f}}; });
  expect_refused("logit_bias", [](SamplingParams& p) { p.logit_bias = {{1, kInfinity}}; });
  expect_refused("logit_bias", [](SamplingParams& p) { p.logit_bias = {{1, kNaN}}; });
}

TEST(SamplingParamsTest, StopTokenIdsLieInTheVocabulary) {
  accepted([](SamplingParams& p) { p.stop_token_ids = {0, kVocabSize - 1}; });
  expect_refused("stop_token_ids", [](SamplingParams& p) { p.stop_token_ids = {3, kVocabSize}; });
  expect_refused("stop_token_ids", [](SamplingParams& p) { p.stop_token_ids = {-1}; });
}

TEST(SamplingParamsTest, LogprobsAreLimited) {
  for (const auto field : {&SamplingParams::num_logprobs, &SamplingParams::num_prompt_logprobs}) {
    const std::string param =
        field == &SamplingParams::num_logprobs ? "logprobs" : "prompt_logprobs";
    for (const std::int32_t good : {0, kMaxLogprobs})
      accepted([&](SamplingParams& p) { p.*field = good; });
    for (const std::int32_t bad : {-2, kAllLogprobs, kMaxLogprobs + 1})
      expect_refused(param, [&](SamplingParams& p) { p.*field = bad; });
    // A server that allows the whole vocabulary allows any number.
    for (const std::int32_t good : {kAllLogprobs, 0, 1000000}) {
      SamplingParams params;
      params.*field = good;
      EXPECT_TRUE(normalize_sampling_params(params, kVocabSize, kAllLogprobs).has_value());
    }
    expect_refused(
        param, [&](SamplingParams& p) { p.*field = -2; }, kAllLogprobs);
  }
}

TEST(SamplingParamsTest, NormalizingTwiceChangesNothingMore) {
  SamplingParams params = accepted([](SamplingParams& p) {
    p.temperature = 0.005f;
    p.top_k = kVocabSize;
    p.logit_bias = {{1, 500.0f}};
  });
  const SamplingParams once = params;
  ASSERT_TRUE(normalize_sampling_params(params, kVocabSize, kMaxLogprobs).has_value());
  EXPECT_EQ(params.temperature, once.temperature);
  EXPECT_EQ(params.top_k, once.top_k);
  EXPECT_EQ(params.logit_bias, once.logit_bias);
}

}  // namespace
}  // namespace tvllm
