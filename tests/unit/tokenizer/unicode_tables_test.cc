// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode_tables.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::tokenizer {
namespace {

CharClass class_of_letter(char letter) {
  switch (letter) {
    case 'L':
      return CharClass::kLetter;
    case 'M':
      return CharClass::kMark;
    case 'N':
      return CharClass::kNumber;
    case 'n':
      return CharClass::kNumberSince17;
    case 'P':
      return CharClass::kPunctuation;
    case 'S':
      return CharClass::kSymbol;
    case 'W':
      return CharClass::kWhiteSpace;
    default:
      return CharClass::kOther;
  }
}

TEST(UnicodeTablesTest, EachCodePointHasTheClassThatHfRegexEngineGivesIt) {
  const boost::json::value golden = read_json("unicode_classes.json");
  const std::string classes = to_text(golden.at("classes"));
  const std::vector<TokenId> lengths = to_ids(golden.at("lengths"));
  ASSERT_EQ(classes.size(), lengths.size());
  char32_t code_point = 0;
  for (std::size_t run = 0; run < classes.size(); ++run) {
    for (TokenId i = 0; i < lengths[run]; ++i, ++code_point) {
      ASSERT_EQ(char_class(code_point), class_of_letter(classes[run]))
          << "U+" << std::hex << static_cast<std::uint32_t>(code_point);
    }
  }
  EXPECT_EQ(code_point, char32_t{0x110000});
}

TEST(UnicodeTablesTest, WhatIsNoCodePointIsOther) {
  EXPECT_EQ(char_class(0x110000), CharClass::kOther);
  EXPECT_EQ(char_class(0xFFFFFFFF), CharClass::kOther);
}

}  // namespace
}  // namespace tvllm::tokenizer
