// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace tvllm {
namespace {

TEST(StringsTest, StrCatJoinsTextAndNumbers) {
  EXPECT_EQ(str_cat(), "");
  EXPECT_EQ(str_cat("tensor '", std::string("q"), "': ", 3, " of ", std::uint64_t{7}, ' ', true,
                    std::string_view("!")),
            "tensor 'q': 3 of 7 true!");
  EXPECT_EQ(str_cat(BlockId(5), " ", SeqId(9)), "5 9");
}

TEST(StringsTest, IntegersAreWrittenWholeAtTheirLimits) {
  EXPECT_EQ(str_cat(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(str_cat(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(str_cat(std::int8_t{-5}, " ", std::uint8_t{200}), "-5 200");
}

TEST(StringsTest, FloatsAreWrittenAsShortAsTheyReadBack) {
  EXPECT_EQ(str_cat(0.1f), "0.1");
  EXPECT_EQ(str_cat(0.1), "0.1");
  EXPECT_EQ(str_cat(1.0), "1");
  EXPECT_EQ(str_cat(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(str_cat(-2.5e300), "-2.5e+300");
}

TEST(StringsTest, StrAppendAddsToTheEnd) {
  std::string out = "a";
  str_append(out, 1, 'b');
  EXPECT_EQ(out, "a1b");
}

TEST(StringsTest, HexAndFixed) {
  EXPECT_EQ(hex(0), "0x0");
  EXPECT_EQ(hex(0x1f40), "0x1f40");
  EXPECT_EQ(hex(std::numeric_limits<std::uint64_t>::max()), "0xffffffffffffffff");
  EXPECT_EQ(fixed(12.3456, 2), "12.35");
  EXPECT_EQ(fixed(-0.5, 0), "-0");
  EXPECT_EQ(fixed(1e300, 1).size(), 303u);
}

TEST(StringsTest, HumanBytesPicksTheUnit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.0 KiB");
  EXPECT_EQ(human_bytes(98362432), "93.8 MiB");
  EXPECT_EQ(human_bytes(std::uint64_t{4} << 30), "4.0 GiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 60), "1048576.0 TiB");
}

TEST(StringsTest, QuotedTextFitsOneLine) {
  EXPECT_EQ(quoted("abc"), "'abc'");
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("a\nb\x7f\xc3\xa9"), "'a\\x0ab\\x7f\\xc3\\xa9'");
  EXPECT_EQ(quoted(std::string_view("\0", 1)), "'\\x00'");
  const std::string cut = quoted(std::string(1000, 'x'), 10);
  EXPECT_EQ(cut, "'xxxxxxxxxx...'");
  EXPECT_EQ(quoted(std::string(10, 'x'), 10), "'xxxxxxxxxx'");
}

TEST(StringsTest, ParseInt64TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_int64("0"), 0);
  EXPECT_EQ(parse_int64("-17"), -17);
  EXPECT_EQ(parse_int64("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "1e3", "9223372036854775808",
                           "-9223372036854775809", "one"}) {
    EXPECT_EQ(parse_int64(text), std::nullopt) << text;
  }
}

TEST(StringsTest, ParseDoubleTakesFiniteNumbersOnly) {
  EXPECT_EQ(parse_double("0.5"), 0.5);
  EXPECT_EQ(parse_double("-1e-3"), -0.001);
  EXPECT_EQ(parse_double("7"), 7.0);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "1.0x", " 1", "1 ", "."})
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
}

TEST(StringsTest, SplitKeepsEmptyParts) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,b,c", ','), (Parts{"a", "b", "c"}));
  EXPECT_EQ(split("", ','), Parts{""});
  EXPECT_EQ(split(",a,", ','), (Parts{"", "a", ""}));
}

TEST(StringsTest, JoinIsTheInverseOfSplit) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
}

TEST(StringsTest, LowerCaseTouchesAsciiAlone) {
  EXPECT_EQ(to_lower_ascii("Content-TYPE \xc3\x89"), "content-type \xc3\x89");
}

}  // namespace
}  // namespace tvllm
