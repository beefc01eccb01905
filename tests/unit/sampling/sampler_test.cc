// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "tests/support/allocation_counter.h"
#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplingParams sampled_with(float temperature, float top_p = 1.0f, std::int32_t top_k = 0,
                            float min_p = 0.0f) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_p = top_p;
  params.top_k = top_k;
  params.min_p = min_p;
  params.seed = 20240601;
  params.max_tokens = 1000000;
  return params;
}

SamplingParams greedy() {
  return sampled_with(0.0f);
}

// One sequence with its row, as an executor holds them.
struct Fixture {
  Fixture(SamplingParams params, std::vector<float> logits, std::vector<TokenId> eos = {0, 2})
      : row(std::move(logits)), scratch(row.size()) {
    state.begin(make_request(std::move(params)), eos, std::vector<TokenId>{1},
                static_cast<std::int32_t>(row.size()));
  }
  TokenId token_at(std::int32_t output_idx) {
    return sample(row, state, output_idx, scratch).token_id;
  }

  std::vector<float> row;
  SamplerScratch scratch;
  SamplerState state;
};

TEST(SamplerTest, GreedyTakesTheBestTokenAndTheLowestIdOfEquals) {
  EXPECT_EQ(Fixture(greedy(), {1, 5, 3, 5}).token_at(0), 1);
  const std::vector<float> row = random_row(49152, 3.0f, 1);
  EXPECT_EQ(Fixture(greedy(), row).token_at(7), reference_order(row)[0]);
}

TEST(SamplerTest, DrawsFollowTheDistribution) {
  const std::vector<float> row = random_row(200, 1.5f, 2);
  struct Case {
    float temperature, top_p;
    std::int32_t top_k;
    float min_p;
    int num_draws;
  };
  for (const Case& c :
       {Case{1, 1, 0, 0, 100000}, Case{0.6f, 1, 0, 0, 100000}, Case{2, 1, 0, 0, 100000},
        Case{1, 0.9f, 0, 0, 30000}, Case{1, 1, 20, 0, 100000}, Case{1, 1, 0, 0.1f, 100000},
        Case{1.4f, 0.8f, 60, 0.01f, 30000}}) {
    const SamplingParams params = sampled_with(c.temperature, c.top_p, c.top_k, c.min_p);
    std::vector<double> expected(row.size(), 0.0);
    const std::vector<double> p = reference_softmax(row, static_cast<double>(c.temperature));
    double mass = 0;
    for (const TokenId id : reference_set(row, params).ids)
      mass += p[static_cast<std::size_t>(id)];
    for (const TokenId id : reference_set(row, params).ids)
      expected[static_cast<std::size_t>(id)] = p[static_cast<std::size_t>(id)] / mass;

    Fixture fixture(params, row);
    std::vector<std::int64_t> counts(row.size(), 0);
    for (int i = 0; i < c.num_draws; ++i)
      ++counts[static_cast<std::size_t>(fixture.token_at(i))];
    EXPECT_GT(fit_p_value(counts, expected), 1e-4)
        << "temperature " << c.temperature << " top_p " << c.top_p << " top_k " << c.top_k
        << " min_p " << c.min_p;
  }
}

TEST(SamplerTest, DrawsOverSeedsAndChoicesFollowTheDistributionToo) {
  const std::vector<float> row = random_row(30, 1.0f, 3);
  SamplerScratch scratch(row.size());
  std::vector<float> logits = row;
  std::vector<std::int64_t> counts(row.size(), 0);
  for (std::uint32_t i = 0; i < 100000; ++i) {
    SamplingParams params = sampled_with(1.0f);
    params.seed = i / 8;
    params.choice_index = i % 8;
    SamplerState state;
    state.begin(make_request(params), {}, std::vector<TokenId>{1}, 30);
    ++counts[static_cast<std::size_t>(sample(logits, state, 0, scratch).token_id)];
  }
  EXPECT_GT(fit_p_value(counts, reference_softmax(row, 1.0)), 1e-4);
}

TEST(SamplerTest, SettingsThatLeaveOneTokenEqualGreedy) {
  const std::vector<float> row = random_row(1000, 2.0f, 4);
  const TokenId best = reference_order(row)[0];
  for (const SamplingParams& params :
       {sampled_with(1, 1, 1), sampled_with(1, 0.0001f), sampled_with(0.01f),
        sampled_with(1, 1, 0, 1.0f), sampled_with(2, 1e-30f, 500)}) {
    Fixture fixture(params, row);
    for (int i = 0; i < 50; ++i)
      ASSERT_EQ(fixture.token_at(i), best);
  }
}

TEST(SamplerTest, ATokenIsAFunctionOfRowSeedChoiceAndPositionAlone) {
  const std::vector<float> row = random_row(5000, 2.0f, 5);
  const SamplingParams params = sampled_with(1.0f, 0.95f);
  Fixture once(params, row);
  std::vector<TokenId> expected;
  expected.reserve(64);
  for (int i = 0; i < 64; ++i)
    expected.push_back(once.token_at(i));

  // Out of order, with scratches that served other rows, on several threads at once.
  std::vector<std::vector<TokenId>> got(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(got.size());
    for (int worker = 0; worker < 4; ++worker) {
      threads.emplace_back([&, worker] {
        Fixture other(sampled_with(1.3f, 0.7f, 40), random_row(9000, 1.0f, 6));
        Fixture mine(params, row);
        std::vector<TokenId>& tokens = got[static_cast<std::size_t>(worker)];
        tokens.resize(64);
        for (int i = 63; i >= 0; --i) {
          (void)sample(other.row, other.state, i, other.scratch);
          tokens[static_cast<std::size_t>(i)] =
              sample(mine.row, mine.state, i, other.scratch).token_id;
        }
      });
    }
  }
  for (const std::vector<TokenId>& tokens : got)
    EXPECT_EQ(tokens, expected);
}

TEST(SamplerTest, ChoicesOfOneSeedDiffer) {
  const std::vector<float> row = random_row(1000, 1.0f, 7);
  std::vector<std::vector<TokenId>> texts;
  for (std::uint32_t choice = 0; choice < 4; ++choice) {
    SamplingParams params = sampled_with(1.0f);
    params.choice_index = choice;
    Fixture fixture(params, row);
    std::vector<TokenId>& text = texts.emplace_back();
    for (int i = 0; i < 20; ++i)
      text.push_back(fixture.token_at(i));
  }
  for (std::size_t a = 0; a < texts.size(); ++a) {
    for (std::size_t b = a + 1; b < texts.size(); ++b)
      EXPECT_NE(texts[a], texts[b]);
  }
}

TEST(SamplerTest, TheRowIsLeftAsItCame) {
  SamplingParams params = sampled_with(0.8f, 0.9f, 30);
  params.logit_bias = {{4, 50.0f}, {9, -100.0f}};
  params.min_tokens = 10;
  params.repetition_penalty = 1.5f;
  const std::vector<float> row = random_row(500, 2.0f, 8);
  Fixture fixture(params, row);
  for (const TokenId id : {4, 9, 0, 2, 17, 17})
    fixture.state.append(id);
  EXPECT_NE(fixture.token_at(3), kNoToken);
  EXPECT_EQ(fixture.row, row);
}

TEST(SamplerTest, ABiasOfHundredForcesAndBans) {
  // Logits of a real model span about 40; the forced token is the least likely one.
  std::vector<float> row = random_row(49152, 4.0f, 9);
  for (float& x : row)
    x = std::min(20.0f, std::max(-20.0f, x));
  row[504] = -20.0f;
  for (SamplingParams params : {greedy(), sampled_with(1, 1, 5), sampled_with(1, 0.5f),
                                sampled_with(2, 1, 0, 0.05f), sampled_with(1)}) {
    params.logit_bias = {{504, 100.0f}};
    Fixture fixture(params, row);
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(fixture.token_at(i), 504);
  }
  const std::vector<TokenId> order = reference_order(row);
  SamplingParams params = greedy();
  params.logit_bias = {{order[0], -100.0f}, {order[1], -100.0f}};
  EXPECT_EQ(Fixture(params, row).token_at(0), order[2]);
}

TEST(SamplerTest, EosWaitsForMinTokensAndIsNotBannedByIgnoreEos) {
  const std::vector<float> row = {9, 1, 8, 7, 1, 1};  // EOS ids 0 and 2 are the best
  SamplingParams params = greedy();
  params.min_tokens = 20;
  Fixture waiting(params, row);
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(waiting.token_at(i), 3);
  EXPECT_EQ(waiting.token_at(20), 0);

  SamplingParams ignoring = greedy();
  ignoring.ignore_eos = true;
  EXPECT_EQ(Fixture(ignoring, row).token_at(0), 0);

  SamplingParams sampled = sampled_with(2.0f);
  sampled.min_tokens = 1000;
  Fixture fixture(sampled, row);
  for (int i = 0; i < 1000; ++i) {
    const TokenId id = fixture.token_at(i);
    ASSERT_TRUE(id != 0 && id != 2);
  }
}

TEST(SamplerTest, PenaltiesMoveTheGreedyChoice) {
  SamplingParams params = greedy();
  params.frequency_penalty = 1.0f;
  Fixture fixture(params, {0, 5, 4.5, 3});
  std::vector<TokenId> text;
  for (int i = 0; i < 5; ++i) {
    text.push_back(fixture.token_at(i));
    fixture.state.append(text.back());
  }
  // 5, 4.5, 3 -> 4, 4.5 -> 4, 3.5 -> 3, 3.5 -> 3, 2.5, 3: the lower id of equals.
  EXPECT_EQ(text, (std::vector<TokenId>{1, 2, 1, 2, 1}));
}

TEST(SamplerTest, AnInvalidRowFailsTheSequence) {
  for (const SamplingParams& params :
       {greedy(), sampled_with(1), sampled_with(1, 0.9f, 10, 0.1f)}) {
    std::vector<float> row = random_row(300, 1.0f, 10);
    for (const std::size_t at : {0u, 150u, 299u}) {
      std::vector<float> with_nan = row;
      with_nan[at] = std::nanf("");
      Fixture fixture(params, with_nan);
      const SampledToken got = sample(fixture.row, fixture.state, 0, fixture.scratch);
      EXPECT_EQ(got.error, SequenceError::kInvalidLogits);
      EXPECT_EQ(got.token_id, kNoToken);
      EXPECT_FALSE(got.has_logprobs);
    }
    Fixture nothing(params, std::vector<float>(300, -kInfinity));
    EXPECT_EQ(sample(nothing.row, nothing.state, 0, nothing.scratch).error,
              SequenceError::kInvalidLogits);
  }
}

TEST(SamplerTest, ANanUnderAMaskStillFailsTheSequence) {
  SamplingParams params = greedy();
  params.min_tokens = 5;
  Fixture fixture(params, {std::nanf(""), 1, 2, 3});
  EXPECT_EQ(sample(fixture.row, fixture.state, 0, fixture.scratch).error,
            SequenceError::kInvalidLogits);
}

TEST(SamplerTest, ARowOfWhichTheMaskLeavesNothingFailsTheSequence) {
  SamplingParams params = greedy();
  params.min_tokens = 5;
  Fixture fixture(params, {3, -kInfinity, 1, -kInfinity});
  EXPECT_EQ(sample(fixture.row, fixture.state, 0, fixture.scratch).error,
            SequenceError::kInvalidLogits);
  EXPECT_EQ(sample(fixture.row, fixture.state, 5, fixture.scratch).token_id, 0);
}

TEST(SamplerTest, PlusInfinityIsTaken) {
  std::vector<float> row = random_row(300, 1.0f, 11);
  row[123] = kInfinity;
  for (SamplingParams params :
       {greedy(), sampled_with(1), sampled_with(0.5f, 0.9f), sampled_with(1, 1, 7)}) {
    params.num_logprobs = 2;
    Fixture fixture(params, row);
    const SampledToken got = sample(fixture.row, fixture.state, 0, fixture.scratch);
    EXPECT_EQ(got.token_id, 123);
    EXPECT_EQ(got.logprobs.token.logprob, 0.0f);
  }
}

TEST(SamplerTest, LogprobsAreThoseOfTheRawRow) {
  const std::vector<float> row = random_row(500, 2.0f, 12);
  const std::vector<double> p = reference_softmax(row, 1.0);
  const std::vector<TokenId> order = reference_order(row);
  for (SamplingParams params : {greedy(), sampled_with(0.3f), sampled_with(2, 0.9f, 40)}) {
    params.num_logprobs = 5;
    params.logit_bias = {{order[0], -100.0f}};
    Fixture fixture(params, row);
    const SampledToken got = sample(fixture.row, fixture.state, 0, fixture.scratch);
    ASSERT_TRUE(got.has_logprobs);
    EXPECT_EQ(got.logprobs.token.token_id, got.token_id);
    EXPECT_NEAR(got.logprobs.token.logprob, std::log(p[static_cast<std::size_t>(got.token_id)]),
                1e-5);
    ASSERT_EQ(got.logprobs.top.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(got.logprobs.top[i].token_id, order[i]);
  }
  SamplingParams chosen_only = greedy();
  chosen_only.num_logprobs = 0;
  Fixture fixture(chosen_only, row);
  const SampledToken got = sample(fixture.row, fixture.state, 0, fixture.scratch);
  EXPECT_TRUE(got.has_logprobs);
  EXPECT_TRUE(got.logprobs.top.empty());
  EXPECT_EQ(got.logprobs.token.token_id, order[0]);
  EXPECT_EQ(got.logprobs.token.rank, 1);
}

TEST(SamplerTest, AllocatesNothingPerToken) {
  for (const std::size_t vocab_size : {49152u, 262144u}) {
    const std::vector<float> row = random_row(vocab_size, 3.0f, 13);
    for (SamplingParams params : {greedy(), sampled_with(1), sampled_with(1, 0.95f),
                                  sampled_with(1, 0.95f, 50, 0.01f), sampled_with(1, 1, 10000)}) {
      params.repetition_penalty = 1.1f;
      params.min_tokens = 3;
      params.logit_bias = {{7, 1.0f}};
      params.num_logprobs = 0;
      Fixture fixture(params, row);
      const std::uint64_t before = testing::num_allocations();
      for (int i = 0; i < 5; ++i)
        fixture.state.append(fixture.token_at(i));
      EXPECT_EQ(testing::num_allocations(), before);
    }
  }
}

TEST(SamplerTest, AScratchThatIsTooSmallGrows) {
  Fixture fixture(sampled_with(1.0f, 0.9f), random_row(1000, 1.0f, 14));
  SamplerScratch small(10);
  EXPECT_EQ(sample(fixture.row, fixture.state, 0, small).token_id, fixture.token_at(0));
}

}  // namespace
}  // namespace tvllm::sampling
