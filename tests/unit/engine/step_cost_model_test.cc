// SPDX-License-Identifier: Apache-2.0
#include "engine/step_cost_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace tvllm::engine {
namespace {

// A machine whose costs are known.
struct Machine {
  double fixed = 8e-3;
  double decode = 0.4e-3;
  double prefill = 0.3e-3;
  double context = 0.2e-6;

  double seconds(const StepLoad& load) const {
    return fixed + decode * load.num_decode_tokens + prefill * load.num_prefill_tokens +
           context * static_cast<double>(load.num_context_tokens);
  }
};

StepLoad decodes(std::int32_t count, std::int64_t context_len) {
  return {.num_decode_tokens = count, .num_context_tokens = count * context_len};
}

StepLoad with_prompt(StepLoad load, std::int32_t num_tokens, std::int64_t position) {
  load.num_prefill_tokens = num_tokens;
  for (std::int64_t i = 1; i <= num_tokens; ++i) {
    load.num_context_tokens += position + i;
  }
  return load;
}

// Steps as a busy server has them: streams come and go, every third step carries a chunk.
void observe_busy_server(StepCostModel& model, const Machine& machine, std::mt19937& random,
                         int num_steps, double noise = 0.0) {
  std::uniform_real_distribution<double> jitter(1.0 - noise, 1.0 + noise);
  for (int i = 0; i < num_steps; ++i) {
    StepLoad load = decodes(1 + static_cast<std::int32_t>(random() % 16), 50 + random() % 900);
    if (i % 3 == 0) {
      load = with_prompt(load, 16 + static_cast<std::int32_t>(random() % 200), random() % 2000);
    }
    model.observe(load, machine.seconds(load) * jitter(random));
  }
}

TEST(StepCostModelTest, PredictsLoadsItHasNotSeenWithinFivePercent) {
  const Machine machine;
  std::mt19937 random(1);
  StepCostModel model;
  observe_busy_server(model, machine, random, 200, 0.05);
  for (const StepLoad& load :
       {decodes(1, 10), decodes(12, 3000), with_prompt(decodes(8, 200), 300, 0),
        with_prompt(decodes(2, 200), 60, 4000), with_prompt({}, 512, 0)}) {
    EXPECT_NEAR(model.predict(load) / machine.seconds(load), 1.0, 0.05);
  }
}

TEST(StepCostModelTest, FollowsAMachineThatBecomesTwiceAsSlow) {
  std::mt19937 random(2);
  StepCostModel model;
  observe_busy_server(model, {}, random, 200);
  const Machine slow{.fixed = 16e-3, .decode = 0.8e-3, .prefill = 0.6e-3, .context = 0.4e-6};
  observe_busy_server(model, slow, random, 150);
  const StepLoad load = with_prompt(decodes(8, 300), 100, 500);
  EXPECT_NEAR(model.predict(load) / slow.seconds(load), 1.0, 0.1);
}

TEST(StepCostModelTest, RemembersThePriceOfPromptsOverManyDecodes) {
  const Machine machine;
  std::mt19937 random(3);
  StepCostModel model;
  observe_busy_server(model, machine, random, 200);
  for (int i = 0; i < 100'000; ++i)
    model.observe(decodes(8, 100 + i % 400), machine.seconds(decodes(8, 100 + i % 400)));
  const StepLoad load = with_prompt(decodes(8, 300), 100, 0);
  EXPECT_NEAR(model.predict(load) / machine.seconds(load), 1.0, 0.05);
}

TEST(StepCostModelTest, OneStalledStepMovesTheEstimateLittle) {
  const Machine machine;
  std::mt19937 random(4);
  StepCostModel model;
  observe_busy_server(model, machine, random, 100);
  model.observe(decodes(8, 300), 100.0 * machine.seconds(decodes(8, 300)));
  EXPECT_NEAR(model.predict(decodes(8, 300)) / machine.seconds(decodes(8, 300)), 1.0, 0.1);
}

TEST(StepCostModelTest, GuessesWithinAFactorOfThreeAfterOneStep) {
  const Machine machine;
  StepCostModel model;
  const StepLoad first = with_prompt({}, 512, 0);
  model.observe(first, machine.seconds(first));
  EXPECT_DOUBLE_EQ(model.predict(first), machine.seconds(first));
  const double ratio = model.predict(decodes(4, 500)) / machine.seconds(decodes(4, 500));
  EXPECT_GT(ratio, 1.0 / 3.0);
  EXPECT_LT(ratio, 3.0);
}

// The number that prefill_tokens_within() names takes exactly the time it was given.
TEST(StepCostModelTest, PromptTokensWithinATimeTakeThatTime) {
  const Machine machine;
  std::mt19937 random(5);
  StepCostModel model;
  observe_busy_server(model, machine, random, 300);
  for (const std::int64_t position : {0, 100, 3000}) {
    for (const double seconds : {0.03, 0.1, 1.0}) {
      const double num_tokens = model.prefill_tokens_within(seconds, decodes(8, 300), position);
      const StepLoad load =
          with_prompt(decodes(8, 300), static_cast<std::int32_t>(num_tokens), position);
      EXPECT_NEAR(machine.seconds(load) / seconds, 1.0, 0.06) << position << ", " << seconds;
    }
  }
}

TEST(StepCostModelTest, NoPromptTokenFitsWhereTheDecodesFillTheTime) {
  const Machine machine;
  std::mt19937 random(6);
  StepCostModel model;
  observe_busy_server(model, machine, random, 100);
  EXPECT_EQ(
      model.prefill_tokens_within(0.5 * machine.seconds(decodes(16, 300)), decodes(16, 300), 0),
      0.0);
}

}  // namespace
}  // namespace tvllm::engine
