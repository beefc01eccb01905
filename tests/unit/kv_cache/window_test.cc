// SPDX-License-Identifier: Apache-2.0
// Groups with a sliding window: what they hold, give back, and share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "kv_cache/kv_cache_manager.h"

namespace tvllm::kv_cache {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<TokenId>;

constexpr SeqId kFirst{1};
constexpr SeqId kSecond{2};
constexpr SeqId kThird{3};

Tokens counted(TokenId first, std::int32_t count) {
  Tokens tokens;
  for (std::int32_t i = 0; i < count; ++i)
    tokens.push_back(first + i);
  return tokens;
}

TEST(GroupLayoutTest, AWindowBoundsWhatASequenceHoldsAtATime) {
  const GroupLayout layout{
      .num_groups = 3, .windows = {0, 8, 1}, .block_size = 4, .max_tokens_in_flight = 6};
  EXPECT_EQ(layout.num_full_groups(), 1);
  EXPECT_EQ(layout.num_blocks_of_group(0, 100), 25);
  // 7 positions before a token and 6 tokens may lie in 5 blocks.
  EXPECT_EQ(layout.num_blocks_of_group(1, 100), 5);
  EXPECT_EQ(layout.num_blocks_of_group(1, 12), 3);
  EXPECT_EQ(layout.num_blocks_of_group(2, 100), 3);
  EXPECT_EQ(layout.num_blocks_for_tokens(100), 33);
  EXPECT_EQ(layout.num_blocks_for_tokens(0), 0);
}

TEST(GroupLayoutTest, TheFirstBlockSeenIsThatOfTheFirstPositionInTheWindow) {
  const GroupLayout layout{.num_groups = 2, .windows = {0, 5}, .block_size = 4};
  EXPECT_EQ(layout.first_block_seen(0, 100), 0);
  EXPECT_EQ(layout.first_block_seen(1, 0), 0);
  EXPECT_EQ(layout.first_block_seen(1, 7), 0);  // 3 .. 7
  EXPECT_EQ(layout.first_block_seen(1, 8), 1);  // 4 .. 8
  EXPECT_EQ(layout.first_block_seen(1, 12), 2);
}

TEST(GroupLayoutTest, TheLongestSequenceFitsAndOneBlockMoreDoesNot) {
  for (const std::int32_t window : {0, 1, 7, 64}) {
    for (std::int64_t num_blocks = 3; num_blocks < 60; ++num_blocks) {
      const GroupLayout layout{.num_groups = 3,
                               .windows = {0, window, window},
                               .block_size = 4,
                               .max_tokens_in_flight = 8};
      const std::int64_t longest = layout.max_num_tokens(num_blocks);
      EXPECT_LE(layout.num_blocks_for_tokens(longest), num_blocks);
      EXPECT_GT(layout.num_blocks_for_tokens(longest + 1), num_blocks);
    }
  }
}

// A manager of two groups, the second with a window, and what a scheduler does with it.
class WindowCache {
 public:
  explicit WindowCache(std::int32_t window, std::int32_t num_blocks = 40)
      : kv({.num_groups = 2,
            .windows = {0, window},
            .max_tokens_in_flight = 64,
            .block_size = 4,
            .num_blocks = num_blocks,
            .enable_prefix_caching = true,
            .prefix_hash_seed = 1}) {}

  PrefixHit look(const Tokens& tokens) {
    HashChain chain;
    PrefixHit hit;
    kv.extend(chain, {tokens, {}}, "");
    kv.find_hit(chain, {tokens, {}}, static_cast<std::int32_t>(tokens.size()) - 1, hit);
    return hit;
  }
  std::int32_t admit(SeqId seq_id, const Tokens& tokens) {
    const PrefixHit hit = look(tokens);
    kv.add_sequence(seq_id, 200);
    kv.take_hit(seq_id, hit);
    kv.check_invariants();
    return hit.num_tokens;
  }
  void compute(SeqId seq_id, const Tokens& tokens) {
    const auto end = static_cast<std::int32_t>(tokens.size());
    ASSERT_TRUE(kv.allocate_slots(seq_id, end));
    HashChain chain;
    kv.extend(chain, {tokens, {}}, "");
    kv.index_blocks(seq_id, chain, {tokens, {}}, end);
    kv.free_behind_windows(seq_id, end);
    kv.check_invariants();
  }
  std::int32_t run(SeqId seq_id, const Tokens& tokens) {
    const std::int32_t num_hit = admit(seq_id, tokens);
    compute(seq_id, tokens);
    return num_hit;
  }
  std::vector<int> table(SeqId seq_id, std::int32_t group) const {
    std::vector<int> table;
    for (const BlockId id : kv.block_table(seq_id, group))
      table.push_back(id.value());
    return table;
  }
  void forget(SeqId seq_id, const Tokens& tokens) {
    HashChain chain;
    kv.extend(chain, {tokens, {}}, "");
    kv.forget_blocks(seq_id, chain, {tokens, {}});
  }

  KvCacheManager kv;
};

TEST(WindowTest, BlocksThatNoLaterTokenSeesGoBackToThePool) {
  WindowCache cache(5);
  cache.run(kFirst, counted(0, 12));
  // The next token, at position 12, sees 8 .. 12.
  EXPECT_THAT(cache.table(kFirst, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(cache.table(kFirst, 1), ElementsAre(0, 0, 6));
  EXPECT_EQ(cache.kv.num_used_blocks(), 4);
  EXPECT_EQ(cache.kv.num_cached_blocks(), 2);
  cache.compute(kFirst, counted(0, 13));
  EXPECT_EQ(cache.table(kFirst, 1).size(), 4u);
  EXPECT_EQ(cache.table(kFirst, 1)[2], 6);
  cache.kv.release(kFirst);
  cache.kv.check_invariants();
  EXPECT_EQ(cache.kv.num_used_blocks(), 0);
}

TEST(WindowTest, ALongSequenceHoldsNoMoreThanItsLayoutSays) {
  WindowCache cache(9, 60);
  cache.admit(kFirst, counted(0, 1));
  for (std::int32_t end = 5; end <= 160; end += 5) {
    cache.compute(kFirst, counted(0, end));
    EXPECT_LE(cache.kv.num_used_blocks(), cache.kv.layout().num_blocks_for_tokens(end));
    EXPECT_LE(cache.kv.num_used_blocks(), (end + 3) / 4 + 4);
  }
  EXPECT_EQ(cache.kv.num_blocks_freed_by_release(std::vector{kFirst}), cache.kv.num_used_blocks());
}

TEST(WindowTest, AHitNeedsTheBlocksOfTheWindowAlone) {
  WindowCache cache(5);
  cache.run(kFirst, counted(0, 16));
  cache.kv.release(kFirst);
  const PrefixHit hit = cache.look(counted(0, 17));
  EXPECT_EQ(hit.num_tokens, 16);
  ASSERT_EQ(hit.tables[1].size(), 4u);
  EXPECT_EQ(std::count(hit.tables[1].begin(), hit.tables[1].end(), kNullBlock), 3);
  EXPECT_EQ(cache.run(kSecond, counted(0, 17)), 16);
  EXPECT_EQ(cache.table(kSecond, 1)[3], hit.tables[1][3].value());
}

TEST(WindowTest, AHitMayEndAnywhereWhileAllBlocksAreCached) {
  WindowCache cache(9);
  cache.run(kFirst, counted(0, 24));
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.look(counted(0, 25)).num_tokens, 24);
  EXPECT_EQ(cache.look(counted(0, 23)).num_tokens, 20);
  EXPECT_EQ(cache.look(counted(0, 9)).num_tokens, 8);
  EXPECT_EQ(cache.look(counted(0, 4)).num_tokens, 0);
  EXPECT_EQ(cache.look(counted(1, 25)).num_tokens, 0);
}

TEST(WindowTest, WhereABlockOfTheWindowIsGoneAShorterHitIsTaken) {
  // Blocks that the window passed were freed first, so they are evicted first.
  WindowCache cache(5, 16);
  cache.run(kFirst, counted(0, 24));  // 6 blocks and 1; 5 cached
  cache.run(kSecond, counted(500, 8));
  cache.kv.release(kSecond);
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.look(counted(0, 25)).num_tokens, 24);
  // Evict what was cached first: window blocks of the beginning.
  cache.kv.add_sequence(kThird, 64);
  ASSERT_TRUE(cache.kv.allocate_slots(kThird, 8));
  EXPECT_EQ(cache.look(counted(0, 25)).num_tokens, 24);
  EXPECT_LT(cache.look(counted(0, 21)).num_tokens, 20);
}

TEST(WindowTest, BlocksOfAHitThatNobodyHoldsAreNeeded) {
  WindowCache cache(5);
  cache.run(kFirst, counted(0, 16));
  const Tokens longer = counted(0, 33);
  // 9 blocks in each group, of group 1 at most what its layout says.
  EXPECT_EQ(cache.kv.num_blocks_needed(33, {.num_tokens = 0, .tables = {{}, {}}}), 18);
  // All 4 of group 0 and the last of group 1 are held by the first sequence.
  EXPECT_EQ(cache.kv.num_blocks_needed(33, cache.look(longer)), 5 + 5);
  cache.kv.release(kFirst);
  EXPECT_EQ(cache.kv.num_blocks_needed(33, cache.look(longer)), 9 + 6);
}

TEST(WindowTest, OtherTokensBeforeTheWindowAreNoHit) {
  WindowCache cache(5);
  cache.run(kFirst, counted(0, 16));
  Tokens other = counted(0, 17);
  other[2] = 77;  // behind the window of position 16, but not behind that of all layers
  EXPECT_EQ(cache.look(other).num_tokens, 0);
}

TEST(WindowTest, WhatAFailedSequenceGaveBackIsForgottenToo) {
  WindowCache cache(5);
  const Tokens tokens = counted(0, 16);
  cache.run(kFirst, tokens);
  cache.run(kSecond, tokens);  // its own last block; a twin in group 0
  cache.forget(kFirst, tokens);
  cache.kv.check_invariants();
  for (std::int32_t length : {5, 9, 13, 17})
    EXPECT_EQ(cache.look(counted(0, length)).num_tokens, 0) << length;
  cache.kv.release(kFirst);
  cache.kv.release(kSecond);
  cache.kv.check_invariants();
}

// What was computed into each block: its group and all tokens up to its end.
using Contents = std::map<int, std::pair<int, Tokens>>;

void expect_right(const PrefixHit& hit, const Tokens& tokens, const Contents& contents,
                  const GroupLayout& layout) {
  for (int group = 0; group < 2; ++group) {
    const std::vector<BlockId>& table = hit.tables[static_cast<std::size_t>(group)];
    ASSERT_EQ(static_cast<std::int32_t>(table.size()) * 4, hit.num_tokens);
    const std::int64_t first_seen = layout.first_block_seen(group, hit.num_tokens);
    for (std::size_t b = 0; b < table.size(); ++b) {
      ASSERT_EQ(table[b] == kNullBlock, static_cast<std::int64_t>(b) < first_seen);
      if (table[b] == kNullBlock) continue;
      const Tokens prefix(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(4 * b + 4));
      ASSERT_EQ(contents.at(table[b].value()), std::pair(group, prefix));
    }
  }
}

TEST(WindowTest, RandomCachesHitNothingButTheSameTokens) {
  std::mt19937 generator(3);
  std::int64_t num_hit = 0;
  for (int world = 0; world < 300; ++world) {
    WindowCache cache(static_cast<std::int32_t>(1 + generator() % 14),
                      static_cast<std::int32_t>(20 + generator() % 30));
    std::vector<SeqId> running;
    Contents contents;
    for (std::uint64_t i = 1; i <= 20; ++i) {
      Tokens tokens = counted(0, static_cast<std::int32_t>(1 + generator() % 40));
      if (generator() % 3 == 0) tokens[generator() % tokens.size()] = 99;
      const PrefixHit hit = cache.look(tokens);
      expect_right(hit, tokens, contents, cache.kv.layout());
      if (HasFatalFailure()) return;
      const auto needed = cache.kv.num_blocks_needed(static_cast<std::int64_t>(tokens.size()), hit);
      if (needed <= cache.kv.num_available_blocks()) {
        num_hit += hit.num_tokens;
        cache.admit(SeqId(i), tokens);
        const auto before = std::array{cache.table(SeqId(i), 0).size(), hit.tables[1].size()};
        ASSERT_TRUE(cache.kv.allocate_slots(SeqId(i), static_cast<std::int64_t>(tokens.size())));
        for (int group = 0; group < 2; ++group) {
          const std::vector<int> table = cache.table(SeqId(i), group);
          for (std::size_t b = before[static_cast<std::size_t>(group)]; b < table.size(); ++b) {
            const std::size_t end = std::min(tokens.size(), 4 * b + 4);
            contents[table[b]] = {
                group, Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(end))};
          }
        }
        cache.compute(SeqId(i), tokens);
        running.push_back(SeqId(i));
      }
      if (!running.empty() && (needed > cache.kv.num_available_blocks() || generator() % 2 == 0)) {
        cache.kv.release(running.front());
        running.erase(running.begin());
      }
      cache.kv.check_invariants();
    }
  }
  EXPECT_GT(num_hit, 5000);
}

}  // namespace
}  // namespace tvllm::kv_cache
