// SPDX-License-Identifier: Apache-2.0
#include "chat_template/search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "chat_template/unicode.h"

namespace tvllm::chat_template {
namespace {

// Letters from a small alphabet, so that parts repeat.
std::string random_text(std::uint32_t& state, std::size_t size, std::uint32_t alphabet) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    state = state * 1664525u + 1013904223u;
    text.push_back(static_cast<char>('a' + (state >> 16) % alphabet));
  }
  return text;
}

TEST(FinderTest, FindsWhatTheLibraryFinds) {
  std::uint32_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    const std::string haystack = random_text(state, state % 120, 2);
    const std::string needle = random_text(state, state % 40, 2);
    const Finder finder(needle);
    for (const std::size_t from : {std::size_t{0}, haystack.size() / 2, haystack.size()}) {
      EXPECT_EQ(finder.find(haystack, from), haystack.find(needle, from))
          << haystack << " " << needle << " " << from;
    }
    EXPECT_EQ(find_last(haystack, needle), haystack.rfind(needle)) << haystack << " " << needle;
  }
}

TEST(FinderTest, TakesNoLongerForTextMadeToBeSlow) {
  const std::string haystack(1 << 20, 'a');
  const std::string needle = std::string(1 << 19, 'a') + "b";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Finder(needle).find(haystack, 0), std::string::npos);
  EXPECT_EQ(find_last(haystack, "b" + needle), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(CharIndexTest, CountsCharactersNotBytes) {
  const std::string text = "a\xC3\xB1\xF0\x9F\x98\x80z";
  const CharIndex index(text);
  EXPECT_EQ(index.num_chars(), 4u);
  EXPECT_EQ(index.byte_of(2), 3u);
  EXPECT_EQ(index.byte_of(4), text.size());
  EXPECT_EQ(index.char_of(3), 2u);
  EXPECT_EQ(CharIndex("abc").byte_of(2), 2u);
  EXPECT_EQ(CharIndex("").num_chars(), 0u);
}

TEST(UnicodeTest, ReadsTextBackwardsAsForwards) {
  const std::string text = "a\xC3\xB1\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\x80z\xE2\x82";
  std::vector<std::size_t> forwards;
  for (std::size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    forwards.push_back(c.end);
    EXPECT_EQ(char_before(text, c.end).begin, at);
    at = c.end;
  }
  EXPECT_EQ(forwards, (std::vector<std::size_t>{1, 3, 6, 10, 11, 12, 13, 14, 15}));
}

TEST(UnicodeTest, SkipsWhiteSpaceOfAllKinds) {
  const std::string text = " \xC2\xA0\t\xE3\x80\x80x\xE3\x80\x80 ";
  EXPECT_EQ(skip_space(text, 0), 7u);
  EXPECT_EQ(end_without_space(text), 8u);
  EXPECT_EQ(end_without_space("  "), 0u);
}

}  // namespace
}  // namespace tvllm::chat_template
