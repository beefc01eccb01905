// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace tvllm::cuda::emulation {
namespace {

ByteState state_of(const std::byte* address) {
  Arena& arena = Arena::instance();
  return static_cast<ByteState>(*arena.state_at(arena.offset_of(address)));
}

TEST(ArenaTest, BytesAroundABufferBelongToNobody) {
  Arena& arena = Arena::instance();
  for (std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257}}) {
    std::byte* const begin = arena.allocate(bytes);
    ASSERT_NE(begin, nullptr);
    EXPECT_EQ(arena.offset_of(begin) % Arena::kAlignment, 0u);
    EXPECT_EQ(state_of(begin), ByteState::kUninitialized);
    EXPECT_EQ(state_of(begin + bytes - 1), ByteState::kUninitialized);
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(state_of(begin + bytes + i), ByteState::kNone);
      ASSERT_EQ(state_of(begin - 1 - i), ByteState::kNone);
    }
    EXPECT_TRUE(arena.free(begin));
    EXPECT_EQ(state_of(begin), ByteState::kNone);
    EXPECT_FALSE(arena.free(begin));
  }
}

TEST(ArenaTest, HoldsWhatLiesInOneBuffer) {
  Arena& arena = Arena::instance();
  std::byte* const begin = arena.allocate(100);
  EXPECT_TRUE(arena.holds(begin, 100));
  EXPECT_TRUE(arena.holds(begin + 99, 1));
  EXPECT_FALSE(arena.holds(begin, 101));
  EXPECT_FALSE(arena.holds(begin + 1, 100));
  EXPECT_FALSE(arena.holds(begin - 1, 1));
  EXPECT_FALSE(arena.holds(&arena, 1));
  EXPECT_TRUE(arena.free(begin));
}

TEST(ArenaTest, BuffersNeverOverlap) {
  Arena& arena = Arena::instance();
  const std::size_t limit = arena.limit();
  arena.set_limit(kMaxDeviceBytes);
  std::mt19937_64 random(1);
  std::vector<std::pair<std::byte*, std::size_t>> live;
  const std::size_t used_before = arena.used_bytes();
  std::size_t used = 0;
  for (int step = 0; step < 3000; ++step) {
    if (live.size() < 40) {
      // Reserved addresses, touched at both ends alone. States are written: not too much.
      const std::size_t bytes =
          random() % 10 == 0 ? (std::size_t{1} << 22) + random() % 1000 : 1 + random() % 5000;
      std::byte* const begin = arena.allocate(bytes);
      ASSERT_NE(begin, nullptr);
      for (const auto& [other, other_bytes] : live) {
        ASSERT_TRUE(begin + bytes <= other || other + other_bytes <= begin);
      }
      live.emplace_back(begin, bytes);
      used += bytes;
    }
    if (random() % 2 == 0 && !live.empty()) {
      const std::size_t i = random() % live.size();
      ASSERT_TRUE(arena.free(live[i].first));
      used -= live[i].second;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ASSERT_EQ(arena.used_bytes(), used_before + used);
  }
  for (const auto& [begin, bytes] : live)
    EXPECT_TRUE(arena.free(begin));
  arena.set_limit(limit);
}

TEST(ArenaTest, WhatIsTooMuchIsRefused) {
  Arena& arena = Arena::instance();
  EXPECT_EQ(arena.allocate(arena.limit() + 1), nullptr);
  EXPECT_EQ(arena.allocate(~std::size_t{0}), nullptr);
}

}  // namespace
}  // namespace tvllm::cuda::emulation
