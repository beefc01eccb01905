// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

// All bytes have a token of the same id, so that text can be pushed byte by byte.
const Tokenizer& bytes() {
  static const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(byte_data({"<s>"}));
  return *tokenizer;
}

std::vector<std::string> pieces_of(std::string_view text) {
  Detokenizer detokenizer(bytes(), false);
  std::vector<std::string> pieces;
  for (const char c : text)
    pieces.push_back(detokenizer.push(static_cast<std::uint8_t>(c)));
  pieces.push_back(detokenizer.flush());
  return pieces;
}

using Pieces = std::vector<std::string>;

TEST(DetokenizerTest, HoldsACharacterUntilItIsComplete) {
  EXPECT_EQ(pieces_of("a\xC3\xA9z"), (Pieces{"a", "", "\u00E9", "z", ""}));
  EXPECT_EQ(pieces_of("\xF0\x9F\x98\x80"), (Pieces{"", "", "", "\U0001F600", ""}));
}

TEST(DetokenizerTest, GivesTheTokensOfAnEmojiAsOneCharacter) {
  Detokenizer detokenizer(smollm2(), true);
  EXPECT_EQ(detokenizer.push(10813), "");
  EXPECT_EQ(detokenizer.incomplete(), "\xF0\x9F");
  EXPECT_EQ(detokenizer.push(242), "");
  EXPECT_EQ(detokenizer.push(218), "\U0001F600");
  EXPECT_EQ(detokenizer.incomplete(), "");
}

TEST(DetokenizerTest, ReplacesInvalidBytesAtOnce) {
  EXPECT_EQ(pieces_of("\xFF"), (Pieces{"\uFFFD", ""}));
  EXPECT_EQ(pieces_of("\x80z"), (Pieces{"\uFFFD", "z", ""}));
  EXPECT_EQ(pieces_of("\xC3z"), (Pieces{"", "\uFFFDz", ""}));
  // E0 80 can be no character: two parts, both known with the second byte.
  EXPECT_EQ(pieces_of("\xE0\x80"), (Pieces{"", "\uFFFD\uFFFD", ""}));
  // F0 9F 98 was the beginning of one: a single maximal part.
  EXPECT_EQ(pieces_of("\xF0\x9F\x98z"), (Pieces{"", "", "", "\uFFFDz", ""}));
  EXPECT_EQ(pieces_of("\xF0\x9F\xF0\x9F"), (Pieces{"", "", "\uFFFD", "", "\uFFFD"}));
}

TEST(DetokenizerTest, FlushReplacesWhatIsIncompleteAndStartsAnew) {
  Detokenizer detokenizer(bytes(), false);
  detokenizer.push(0xE4);
  EXPECT_EQ(detokenizer.push(0xB8), "");
  EXPECT_EQ(detokenizer.flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.flush(), "");
  EXPECT_EQ(detokenizer.push('a'), "a");
}

TEST(DetokenizerTest, AControlTokenThatIsSkippedDoesNotSplitACharacter) {
  Detokenizer skipping(bytes(), true);
  EXPECT_EQ(skipping.push(0xC3), "");
  EXPECT_EQ(skipping.push(256), "");
  EXPECT_EQ(skipping.push(0xA9), "\u00E9");
  Detokenizer showing(bytes(), false);
  EXPECT_EQ(showing.push(0xC3), "");
  EXPECT_EQ(showing.push(256), "\uFFFD<s>");
  EXPECT_EQ(showing.push(0xA9), "\uFFFD");
}

TEST(DetokenizerTest, IdsOutsideOfTheVocabularyAddNothing) {
  Detokenizer detokenizer(bytes(), false);
  EXPECT_EQ(detokenizer.push(0xC3), "");
  for (const TokenId id : {-1, 257, 2147483647})
    EXPECT_EQ(detokenizer.push(id), "");
  EXPECT_EQ(detokenizer.push(0xA9), "\u00E9");
}

// Tokens of one to three bytes of the text's kind: valid characters, broken ones, control tokens.
Ids random_ids(std::mt19937& rng) {
  static const std::vector<std::string> parts = {"a",        " ",        "\xC3", "\xA9",
                                                 "\xE4\xB8", "\xAD",     "\xF0", "\x9F",
                                                 "\x98",     "\x98\x80", "\xFF", "\xED"};
  Ids ids;
  for (std::size_t num_parts = 1 + rng() % 12; num_parts > 0; --num_parts) {
    if (rng() % 10 == 0) ids.push_back(256);
    for (const char c : parts[rng() % parts.size()])
      ids.push_back(static_cast<std::uint8_t>(c));
  }
  return ids;
}

TEST(DetokenizerTest, AnySplitGivesTheTextOfTheWholeInValidPieces) {
  std::mt19937 rng(20250601);
  for (int round = 0; round < 3000; ++round) {
    const Ids ids = random_ids(rng);
    for (const bool skip_special_tokens : {false, true}) {
      Detokenizer detokenizer(bytes(), skip_special_tokens);
      const std::string whole = bytes().decode(ids, skip_special_tokens);
      ASSERT_TRUE(is_valid_utf8(whole));
      std::string so_far;
      for (const TokenId id : ids) {
        const std::string piece = detokenizer.push(id);
        ASSERT_TRUE(is_valid_utf8(piece));
        ASSERT_LE(detokenizer.incomplete().size(), 3u);
        so_far += piece;
        ASSERT_TRUE(whole.starts_with(so_far));
      }
      so_far += detokenizer.flush();
      ASSERT_EQ(so_far, whole) << "round " << round;
    }
  }
}

TEST(DetokenizerTest, TheTokensOfATextGiveTheText) {
  const boost::json::value golden = read_json("encodings.json");
  for (const boost::json::value& example : golden.at("cases").as_array()) {
    const Ids ids = smollm2().encode(to_text(example.at("text")));
    Detokenizer detokenizer(smollm2(), false);
    std::string text;
    for (const TokenId id : ids)
      text += detokenizer.push(id);
    EXPECT_EQ(text + detokenizer.flush(), smollm2().decode(ids, false));
  }
  const std::string text = "<|im_start|>Stra\u00DFe \U0001F468\u200D\U0001F469 1 2\r\n";
  EXPECT_EQ(smollm2().decode(smollm2().encode(text), false), text);
  EXPECT_EQ(smollm2().decode(smollm2().encode(text), true), text.substr(12));
}

}  // namespace
}  // namespace tvllm::tokenizer
