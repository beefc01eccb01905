// SPDX-License-Identifier: Apache-2.0
#include "loader/printable.h"

#include <gtest/gtest.h>

namespace tvllm::loader {
namespace {

TEST(PrintableTest, PlainTextInAnyLanguageStays) {
  EXPECT_EQ(printable("models/caf\u00e9 \u6a21\u578b.gguf"), "models/caf\u00e9 \u6a21\u578b.gguf");
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable(std::string_view("a\nb\tc\r\x1b[2J\0\x7f\\", 13)),
            "a\\nb\\tc\\r\\x1b[2J\\x00\\x7f\\\\");
  EXPECT_EQ(printable("\\"), "\\\\");
}

TEST(PrintableTest, CharactersThatTurnOrBreakALineAreEscaped) {
  EXPECT_EQ(printable("\u202e\u2028\u200b\u0085\ufeff"), "\\u202e\\u2028\\u200b\\u0085\\ufeff");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreShownAsBytes) {
  EXPECT_EQ(printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(printable("\xe2\x82z"), "\\xe2\\x82z");
}

TEST(PrintableTest, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("\u00e9\u00e9\u00e9", 2), "\u00e9\u00e9...");
}

TEST(PrintableTest, ThousandsAreSeparated) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(98362432), "98,362,432");
}

}  // namespace
}  // namespace tvllm::loader
