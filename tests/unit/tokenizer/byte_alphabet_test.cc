// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace tvllm::tokenizer {
namespace {

TEST(ByteAlphabetTest, PrintableBytesAreThemselvesAndOthersStandFrom256On) {
  EXPECT_EQ(byte_to_alphabet('!'), "!");
  EXPECT_EQ(byte_to_alphabet('~'), "~");
  EXPECT_EQ(byte_to_alphabet(0xA1), "\u00A1");
  EXPECT_EQ(byte_to_alphabet(0xFF), "\u00FF");
  EXPECT_EQ(byte_to_alphabet(0x00), "\u0100");
  EXPECT_EQ(byte_to_alphabet('\n'), "\u010A");
  EXPECT_EQ(byte_to_alphabet(' '), "\u0120");
  EXPECT_EQ(byte_to_alphabet(0x7F), "\u0121");
  EXPECT_EQ(byte_to_alphabet(0xA0), "\u0142");
  EXPECT_EQ(byte_to_alphabet(0xAD), "\u0143");
}

TEST(ByteAlphabetTest, EachByteHasItsOwnCharacterThatLeadsBack) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = byte_to_alphabet(static_cast<std::uint8_t>(byte));
    EXPECT_TRUE(characters.insert(text).second) << byte;
    EXPECT_EQ(alphabet_to_bytes(text), std::string(1, static_cast<char>(byte)));
  }
}

TEST(ByteAlphabetTest, RefusesWhatIsNotInTheAlphabet) {
  EXPECT_EQ(alphabet_to_bytes(""), "");
  EXPECT_EQ(alphabet_to_bytes("a\u0120b"), "a b");
  EXPECT_EQ(alphabet_to_bytes("a b"), std::nullopt);     // a blank is U+0120
  EXPECT_EQ(alphabet_to_bytes("\u00AD"), std::nullopt);  // U+0143
  EXPECT_EQ(alphabet_to_bytes("\u0143"), "\xAD");        // the last of the alphabet
  EXPECT_EQ(alphabet_to_bytes("\u0144"), std::nullopt);  // one past it
  EXPECT_EQ(alphabet_to_bytes("a\xC4"), std::nullopt);   // not UTF-8
  EXPECT_EQ(alphabet_to_bytes("\u4E2D"), std::nullopt);
}

}  // namespace
}  // namespace tvllm::tokenizer
