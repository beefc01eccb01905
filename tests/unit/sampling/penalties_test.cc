// SPDX-License-Identifier: Apache-2.0
#include "sampling/penalties.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "tests/support/allocation_counter.h"

namespace tvllm::sampling {
namespace {

TEST(PenaltiesTest, RepetitionShrinksPositiveAndGrowsNegativeLogits) {
  const Penalties penalties{.repetition = 2.0f};
  EXPECT_EQ(penalized(3.0f, 0, penalties), 1.5f);
  EXPECT_EQ(penalized(-3.0f, 0, penalties), -6.0f);
  EXPECT_EQ(penalized(0.0f, 4, penalties), 0.0f);
}

TEST(PenaltiesTest, FrequencyCountsOccurrencesPresenceCountsOnce) {
  const Penalties penalties{.frequency = 0.5f, .presence = 0.25f};
  EXPECT_EQ(penalized(1.0f, 1, penalties), 0.25f);
  EXPECT_EQ(penalized(1.0f, 3, penalties), -0.75f);
  EXPECT_EQ(penalized(1.0f, 0, penalties), 1.0f);  // in the prompt only
}

TEST(PenaltiesTest, RepetitionComesBeforeTheSubtractions) {
  const Penalties penalties{.repetition = 2.0f, .frequency = 0.5f, .presence = 0.25f};
  EXPECT_EQ(penalized(4.0f, 2, penalties), 4.0f / 2 - 2 * 0.5f - 0.25f);
}

TEST(PenaltiesTest, NegativePenaltiesReward) {
  const Penalties penalties{.repetition = 0.5f, .frequency = -1.0f, .presence = -2.0f};
  EXPECT_EQ(penalized(1.0f, 2, penalties), 2.0f + 2.0f + 2.0f);
}

TEST(PenaltiesTest, InfiniteLogitsStayWhatTheyAre) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Penalties penalties{.repetition = 1.5f, .frequency = 2.0f, .presence = 2.0f};
  EXPECT_EQ(penalized(kInfinity, 5, penalties), kInfinity);
  EXPECT_EQ(penalized(-kInfinity, 5, penalties), -kInfinity);
}

TEST(PenaltiesTest, OnlyNeutralValuesAreNoPenalty) {
  EXPECT_FALSE(Penalties{}.any());
  EXPECT_TRUE((Penalties{.repetition = 0.9f}).any());
  EXPECT_TRUE((Penalties{.frequency = -0.1f}).any());
  EXPECT_TRUE((Penalties{.presence = 0.1f}).any());
}

TEST(TokenCountsTest, CountsLikeAMapInOrderOfFirstAppearance) {
  std::mt19937 rng(3);
  TokenCounts counts;
  for (const std::size_t room : {0u, 1u, 100u, 5000u}) {
    counts.reset(room);
    EXPECT_TRUE(counts.entries().empty());
    std::map<TokenId, std::int32_t> expected;
    std::vector<TokenId> order;
    for (int i = 0; i < 4000; ++i) {
      const auto id = static_cast<TokenId>(rng() % 1500 * 37);
      const bool prompt = rng() % 3 == 0;
      if (expected.emplace(id, 0).second) order.push_back(id);
      if (prompt) {
        counts.add_prompt(id);
      } else {
        counts.add_output(id);
        ++expected[id];
      }
    }
    ASSERT_EQ(counts.entries().size(), expected.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(counts.entries()[i].id, order[i]);
      ASSERT_EQ(counts.entries()[i].num_output, expected[order[i]]);
    }
  }
}

TEST(TokenCountsTest, AllocatesNothingForAsManyTokensAsWereAnnounced) {
  TokenCounts counts;
  counts.reset(777);
  const std::uint64_t before = testing::num_allocations();
  for (TokenId id = 0; id < 777; ++id)
    counts.add_output(id * 64);
  EXPECT_EQ(testing::num_allocations(), before);
}

}  // namespace
}  // namespace tvllm::sampling
