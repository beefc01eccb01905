// SPDX-License-Identifier: Apache-2.0
#include "output/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tvllm::output {
namespace {

using Stops = std::vector<std::string>;

struct NaiveMatch {
  std::size_t stop_idx = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The least end at which some stop string ends; the longest of them, then the first in the list.
std::optional<NaiveMatch> naive_match(const std::string& text, const Stops& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<NaiveMatch> best;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const std::size_t len = stops[i].size();
      if (len > end || text.compare(end - len, len, stops[i]) != 0) continue;
      if (!best || len > best->end - best->begin) best = NaiveMatch{i, end - len, end};
    }
    if (best) return best;
  }
  return std::nullopt;
}

// The longest end of `text` that is a proper prefix of a stop string.
std::size_t naive_held_len(const std::string& text, const Stops& stops) {
  std::size_t longest = 0;
  for (const std::string& stop : stops) {
    for (std::size_t len = 1; len < stop.size() && len <= text.size(); ++len) {
      if (text.compare(text.size() - len, len, stop, 0, len) == 0) longest = std::max(longest, len);
    }
  }
  return longest;
}

std::string random_text(std::mt19937& rng, std::size_t len, std::size_t num_letters) {
  std::string text(len, 'a');
  for (char& c : text)
    c = static_cast<char>('a' + rng() % num_letters);
  return text;
}

TEST(StopMatcherTest, FindsTheMatchThatEndsFirst) {
  StopMatcher matcher({"gamma", "beta", "ta ga"});
  const auto match = matcher.feed("alpha beta gamma", true);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->stop_idx, 1u);
  EXPECT_EQ(match->begin, 6u);
  EXPECT_EQ(match->end, 10u);
}

TEST(StopMatcherTest, OfThoseThatEndTogetherTheLongestWins) {
  for (const Stops& stops : {Stops{"beta", "alpha beta"}, Stops{"alpha beta", "beta"}}) {
    StopMatcher matcher(stops);
    const auto match = matcher.feed("alpha beta gamma", true);
    ASSERT_TRUE(match.has_value());
    EXPECT_EQ(stops[match->stop_idx], "alpha beta");
    EXPECT_EQ(match->begin, 0u);
  }
}

TEST(StopMatcherTest, AShorterStringInsideALongerOneEndsFirst) {
  StopMatcher matcher({"abcd", "bc"});
  const auto match = matcher.feed("xabcd", true);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->begin, 2u);
  EXPECT_EQ(match->end, 4u);
}

TEST(StopMatcherTest, HoldsOnlyWhatBeginsAStopString) {
  StopMatcher matcher({"\n\nUser:", "STOP"});
  const auto held_after = [&matcher](std::string_view piece) {
    EXPECT_FALSE(matcher.feed(piece, true).has_value());
    return matcher.held_len();
  };
  EXPECT_EQ(held_after("hello"), 0u);
  EXPECT_EQ(held_after("\n"), 1u);
  EXPECT_EQ(held_after("\n"), 2u);
  EXPECT_EQ(held_after("\n"), 2u);
  EXPECT_EQ(held_after("Use"), 5u);
  EXPECT_EQ(held_after(" ST"), 2u);
  EXPECT_EQ(held_after("OX"), 0u);
}

TEST(StopMatcherTest, WithoutStringsNothingMatchesOrIsHeld) {
  StopMatcher matcher({});
  EXPECT_FALSE(matcher.feed("anything", true).has_value());
  EXPECT_EQ(matcher.held_len(), 0u);
}

TEST(StopMatcherTest, RandomTextsAgreeWithANaiveSearchHoweverTheyAreCut) {
  std::mt19937 rng(20240607);
  int num_matches = 0;
  for (int round = 0; round < 20000; ++round) {
    Stops stops(rng() % 5);
    for (std::string& stop : stops)
      stop = random_text(rng, 1 + rng() % 6, 2);
    const std::string text = random_text(rng, rng() % 30, 2 + rng() % 2);
    const std::optional<NaiveMatch> expected = naive_match(text, stops);

    StopMatcher matcher(stops);
    std::optional<StopMatcher::Match> match;
    std::size_t fed = 0;
    while (fed < text.size() && !match) {
      const std::size_t len = std::min(text.size() - fed, 1 + rng() % 7);
      match = matcher.feed(text.substr(fed, len), true);
      fed += len;
      if (match) continue;
      ASSERT_EQ(matcher.held_len(), naive_held_len(text.substr(0, fed), stops)) << text;
    }
    ASSERT_EQ(match.has_value(), expected.has_value()) << text;
    if (!match) continue;
    ++num_matches;
    ASSERT_EQ(match->begin, expected->begin) << text;
    ASSERT_EQ(match->end, expected->end) << text;
    ASSERT_EQ(stops[match->stop_idx], stops[expected->stop_idx]);
  }
  EXPECT_GT(num_matches, 5000);
}

TEST(StopMatcherTest, WhatIsPassedOverCanStillBeginALongerMatch) {
  StopMatcher matcher({"ab", "abab"});
  EXPECT_FALSE(matcher.feed("xab", false).has_value());
  EXPECT_EQ(matcher.held_len(), 2u);
  EXPECT_FALSE(matcher.feed("a", true).has_value());
  const auto match = matcher.feed("b", true);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->begin, 1u);
  EXPECT_EQ(match->end, 5u);
}

TEST(StopMatcherTest, WhatIsPassedOverWholeIsNotHeld) {
  StopMatcher matcher({"abc"});
  EXPECT_FALSE(matcher.feed("abc", false).has_value());
  EXPECT_EQ(matcher.held_len(), 0u);
}

TEST(StopMatcherTest, StringsThatAreNoTextMatchNothing) {
  StopMatcher matcher({"", "\x80", "x"});
  const auto match = matcher.feed("ab\x80x", true);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->stop_idx, 2u);
}

TEST(StopMatcherTest, RepetitiveStringsCostLinearTime) {
  // A search that starts anew at every byte would take 8e9 comparisons.
  Stops stops = {std::string(4000, 'a') + "b", std::string(4000, 'a') + "c"};
  StopMatcher matcher(stops);
  const std::string text(1000000, 'a');
  EXPECT_FALSE(matcher.feed(text, true).has_value());
  EXPECT_EQ(matcher.held_len(), 4000u);
  EXPECT_TRUE(matcher.feed("c", true).has_value());
}

TEST(StopStringsTest, AreAcceptedUpToTheLimits) {
  EXPECT_TRUE(check_stop_strings({}).has_value());
  EXPECT_TRUE(check_stop_strings({"a", "\xe6\x97\xa5", "a"}).has_value());
  EXPECT_TRUE(check_stop_strings(Stops(kMaxStopStrings, "x")).has_value());
  EXPECT_TRUE(check_stop_strings({std::string(kMaxStopBytes, 'x')}).has_value());
}

TEST(StopStringsTest, AreRefusedPastThem) {
  for (const Stops& stops :
       {Stops{"a", ""}, Stops{"\xff"}, Stops{"\xe6\x97"}, Stops(kMaxStopStrings + 1, "x"),
        Stops{std::string(kMaxStopBytes, 'x'), "y"}}) {
    const Status status = check_stop_strings(stops);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(status.error().param, "stop");
  }
}

}  // namespace
}  // namespace tvllm::output
