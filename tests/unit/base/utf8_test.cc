// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tvllm {
namespace {

void expect_char(std::string_view text, Utf8State state, char32_t code_point, int num_bytes) {
  const Utf8Char c = decode_utf8(text);
  EXPECT_EQ(c.state, state);
  EXPECT_EQ(static_cast<std::uint32_t>(c.code_point), static_cast<std::uint32_t>(code_point));
  EXPECT_EQ(c.num_bytes, num_bytes);
}

TEST(Utf8Test, DecodesTheLimitsOfEachLength) {
  expect_char(std::string_view("\0", 1), Utf8State::kComplete, 0, 1);
  expect_char("\x7f", Utf8State::kComplete, 0x7F, 1);
  expect_char("\xc2\x80", Utf8State::kComplete, 0x80, 2);
  expect_char("\xdf\xbf", Utf8State::kComplete, 0x7FF, 2);
  expect_char("\xe0\xa0\x80", Utf8State::kComplete, 0x800, 3);
  expect_char("\xed\x9f\xbf", Utf8State::kComplete, 0xD7FF, 3);
  expect_char("\xee\x80\x80", Utf8State::kComplete, 0xE000, 3);
  expect_char("\xef\xbf\xbf", Utf8State::kComplete, 0xFFFF, 3);
  expect_char("\xf0\x90\x80\x80", Utf8State::kComplete, 0x10000, 4);
  expect_char("\xf4\x8f\xbf\xbf", Utf8State::kComplete, 0x10FFFF, 4);
}

TEST(Utf8Test, TellsIncompleteFromInvalid) {
  expect_char("\xf0\x9f\x98", Utf8State::kIncomplete, 0xFFFD, 3);
  expect_char("\xf0\x9f", Utf8State::kIncomplete, 0xFFFD, 2);
  expect_char("\xf0", Utf8State::kIncomplete, 0xFFFD, 1);
  expect_char("\xe2\x82", Utf8State::kIncomplete, 0xFFFD, 2);
  expect_char("\xf0\x9f\x98x", Utf8State::kInvalid, 0xFFFD, 3);
  expect_char("\x80", Utf8State::kInvalid, 0xFFFD, 1);
  expect_char("\xff", Utf8State::kInvalid, 0xFFFD, 1);
  expect_char("\xc0\x80", Utf8State::kInvalid, 0xFFFD, 1);          // overlong
  expect_char("\xe0\x80\x80", Utf8State::kInvalid, 0xFFFD, 1);      // overlong
  expect_char("\xed\xa0\x80", Utf8State::kInvalid, 0xFFFD, 1);      // a surrogate
  expect_char("\xf4\x90\x80\x80", Utf8State::kInvalid, 0xFFFD, 1);  // above U+10FFFF
}

TEST(Utf8Test, EncodingAndDecodingAreInverseForEveryCodePoint) {
  std::string text;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    text.clear();
    append_utf8(text, c);
    const Utf8Char back = decode_utf8(text);
    ASSERT_EQ(back.state, Utf8State::kComplete);
    ASSERT_EQ(static_cast<std::uint32_t>(back.code_point), static_cast<std::uint32_t>(c));
    ASSERT_EQ(static_cast<std::size_t>(back.num_bytes), text.size());
  }
}

TEST(Utf8Test, ValidityIsThatOfTheWholeText) {
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8("n\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_valid_utf8("n\xc3"));
  EXPECT_FALSE(is_valid_utf8("\xc3\x28"));
}

TEST(Utf8Test, ReplacesEachMaximalInvalidPart) {
  // Table 3-8 of the Unicode Standard 15, section 3.9.
  EXPECT_EQ(to_valid_utf8("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"),
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
            "b\xef\xbf\xbd"
            "c\xef\xbf\xbd\xef\xbf\xbd"
            "d");
}

// All strings of 1 to 4 of these bytes, replaced as Python does it. The hash is FNV-1a over every
// bytes(t).decode("utf-8", "replace").encode() followed by one byte 0xFE, for t in the order of
// itertools.product for each length: 406,900 strings.
TEST(Utf8Test, ReplacesAsPythonDoes) {
  constexpr std::string_view kBytes(
      "\x00\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4"
      "\xf5\xff",
      25);
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](char byte) {
    hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3;
  };
  for (std::size_t len = 1; len <= 4; ++len) {
    std::size_t num_strings = 1;
    for (std::size_t i = 0; i < len; ++i)
      num_strings *= kBytes.size();
    std::string text(len, '\0');
    for (std::size_t n = 0; n < num_strings; ++n) {
      std::size_t rest = n;
      for (std::size_t i = len; i-- > 0; rest /= kBytes.size())
        text[i] = kBytes[rest % kBytes.size()];
      const std::string valid = to_valid_utf8(text);
      ASSERT_TRUE(is_valid_utf8(valid));
      for (const char byte : valid)
        add(byte);
      add('\xfe');
    }
  }
  EXPECT_EQ(hash, 0xccb50381c9f5dfd7);
}

}  // namespace
}  // namespace tvllm
