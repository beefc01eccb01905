// SPDX-License-Identifier: Apache-2.0
#include "chat_template/text.h"

#include <gtest/gtest.h>

#include "tests/unit/chat_template/test_data.h"

namespace tvllm::chat_template {
namespace {

std::string shown(const Text& text) {
  return show_input(text.bytes(), text.input_ranges());
}

// "ab[cd]ef[gh]"
Text mixed() {
  Text text("ab");
  text.append(Text::input("cd"));
  text.append("ef");
  text.append(Text::input("gh"));
  return text;
}

TEST(TextTest, OwnTextHasNoInputAndInputHasNothingElse) {
  EXPECT_EQ(shown(Text("abc")), "abc");
  EXPECT_EQ(shown(Text::input("abc")), "[abc]");
  EXPECT_TRUE(Text::input("").input_ranges().empty());
}

TEST(TextTest, AppendingKeepsRangesAndMergesThoseThatTouch) {
  Text text = mixed();
  EXPECT_EQ(shown(text), "ab[cd]ef[gh]");
  text.append(Text::input("ij"));
  EXPECT_EQ(shown(text), "ab[cd]ef[ghij]");
  EXPECT_EQ(text.input_ranges().size(), 2u);
}

TEST(TextTest, EverySliceHasTheRangesOfItsBytes) {
  const Text text = mixed();
  for (std::size_t begin = 0; begin <= text.size(); ++begin) {
    for (std::size_t end = begin; end <= text.size(); ++end) {
      const Text part = text.slice(begin, end);
      EXPECT_EQ(part.bytes(), text.bytes().substr(begin, end - begin));
      for (std::size_t i = 0; i < part.size(); ++i) {
        EXPECT_EQ(part.has_input(i, i + 1), text.has_input(begin + i, begin + i + 1))
            << begin << " " << end << " " << i;
      }
    }
  }
}

TEST(TextTest, HasInputSeesAnyByteOfARange) {
  const Text text = mixed();
  EXPECT_FALSE(text.has_input(0, 2));
  EXPECT_TRUE(text.has_input(0, 3));
  EXPECT_TRUE(text.has_input(3, 4));
  EXPECT_FALSE(text.has_input(4, 6));
  EXPECT_FALSE(text.has_input(8, 8));
}

TEST(TextTest, WhatIsMadeFromInputIsInput) {
  const Text text = mixed();
  Text made;
  made.append_made_from("<", text, 0, 2);
  made.append_made_from(">", text, 1, 3);
  made.append_made_from("", text, 2, 4);
  EXPECT_EQ(shown(made), "<[>]");
}

}  // namespace
}  // namespace tvllm::chat_template
