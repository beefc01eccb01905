// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/sentence_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <string>

#include "base/strings.h"
#include "base/utf8.h"
#include "tests/unit/tokenizer/test_data.h"
#include "tokenizer/detokenizer.h"

namespace tvllm::tokenizer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<TokenId>;

constexpr std::string_view kBlank = "\u2581";

const Tokenizer& small_gemma() {
  static const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(sentence_piece_data());
  return *tokenizer;
}

// Pieces by falling score, after <unk>, and whatever else a test adds.
TokenizerData hand_made(const std::vector<std::string>& pieces) {
  TokenizerData data;
  data.model = "llama";
  data.tokens.emplace_back("<unk>");
  data.token_types.push_back(TokenType::kUnknown);
  for (const std::string& piece : pieces) {
    data.tokens.push_back(piece);
    data.token_types.push_back(TokenType::kNormal);
  }
  for (std::size_t i = 0; i < data.tokens.size(); ++i)
    data.scores.push_back(-static_cast<float>(i));
  data.unknown_token_id = 0;
  return data;
}

void add_token(TokenizerData& data, const std::string& text, TokenType type) {
  data.tokens.push_back(text);
  data.token_types.push_back(type);
  data.scores.push_back(-1000.0f);
}

void add_bytes(TokenizerData& data) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte)
    add_token(data, str_cat("<0x", kDigits[byte / 16], kDigits[byte % 16], ">"), TokenType::kByte);
}

std::string bytes_of(const Tokenizer& tokenizer, const Ids& ids) {
  std::string bytes;
  for (const TokenId id : ids)
    bytes += tokenizer.token_bytes(id);
  return bytes;
}

std::string stream(const Tokenizer& tokenizer, const Ids& ids) {
  Detokenizer detokenizer(tokenizer, false);
  std::string text;
  for (const TokenId id : ids) {
    const std::string piece = detokenizer.push(id);
    EXPECT_TRUE(is_valid_utf8(piece));
    text += piece;
  }
  return text + detokenizer.flush();
}

// Of this thread, so that other work on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(SentencePieceTest, EncodesAsTheLibraryDoes) {
  const std::vector<std::vector<std::string>> rows = read_rows("sentence_piece_encodings.tsv");
  EXPECT_GT(rows.size(), 2000u);
  for (const std::vector<std::string>& row : rows) {
    const std::string text = to_text(boost::json::parse(row[0]));
    EXPECT_EQ(small_gemma().encode(text), parse_ids(row[1])) << quoted(text);
  }
}

TEST(SentencePieceTest, DecodesAsTheLibraryDoes) {
  for (const std::vector<std::string>& row : read_rows("sentence_piece_decodings.tsv")) {
    const Ids ids = parse_ids(row[0]);
    const std::string text = to_text(boost::json::parse(row[1]));
    EXPECT_EQ(small_gemma().decode(ids, false), text) << row[0];
    EXPECT_EQ(stream(small_gemma(), ids), text) << row[0];
  }
}

TEST(SentencePieceTest, LongRunsTakeLittleTimeAndAreTheLibrarysTokens) {
  for (const std::vector<std::string>& row : read_rows("sentence_piece_long_runs.tsv")) {
    const std::string unit = to_text(boost::json::parse(row[0]));
    const std::string text = repeat(unit, static_cast<std::size_t>(*parse_int64(row[1])));
    const double begin = cpu_seconds();
    const Ids ids = small_gemma().encode(text);
    EXPECT_LT(cpu_seconds() - begin, 2.0) << unit;
    EXPECT_EQ(static_cast<std::int64_t>(ids.size()), *parse_int64(row[2])) << unit;
    std::uint32_t number = 0;
    for (const TokenId id : ids)
      number = 31 * number + static_cast<std::uint32_t>(id);
    EXPECT_EQ(static_cast<std::int64_t>(number), *parse_int64(row[3])) << unit;
  }
}

TEST(SentencePieceTest, TakesLessThanThreeTimesAsLongForTwiceTheText) {
  for (const char* unit : {"a", " ", "\n", "er", "> </", "<h1", "\U0001F9EB"}) {
    const std::string text = repeat(unit, 60000);
    const std::string double_text = text + text;
    const auto seconds = [](const std::string& encoded) {
      const double begin = cpu_seconds();
      small_gemma().encode(encoded);
      return cpu_seconds() - begin;
    };
    // Noise only makes a time longer, so the least of a few is what it takes.
    double once = seconds(text);
    double twice = seconds(double_text);
    for (int i = 0; i < 10 && twice >= 3 * once; ++i) {
      once = std::min(once, seconds(text));
      twice = std::min(twice, seconds(double_text));
    }
    EXPECT_LT(twice, 3 * once) << unit;
  }
}

TEST(SentencePieceTest, AnyBytesComeBackWholeAndPieceByPiece) {
  std::mt19937 generator(12);
  const std::array<const char*, 15> parts = {
      " ", "the", " a", "\xFF", "\xE2\x96", "\xF0\x9F", "\n\n",        "<h1>",
      "<", "\t",  "x",  "\x80", "\u4e2d",   "\u00e9",   "<end_of_turn"};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::size_t n = generator() % 20; n > 0; --n)
      text += parts[generator() % parts.size()];
    const Ids ids = small_gemma().encode(text);
    EXPECT_EQ(bytes_of(small_gemma(), ids), text) << quoted(text);
    EXPECT_EQ(small_gemma().decode(ids, false), to_valid_utf8(text)) << quoted(text);
    EXPECT_EQ(stream(small_gemma(), ids), to_valid_utf8(text)) << quoted(text);
  }
}

TEST(SentencePieceTest, ShortAndLongWordsAreMergedAlike) {
  // "b" has a merge with neither side, so what stands before it is merged as if it stood alone.
  const auto tokenizer = make_tokenizer(hand_made({"aa", "aaa", "ac", "a", "c", "b"}));
  std::mt19937 generator(5);
  for (int i = 0; i < 500; ++i) {
    std::string word;
    for (std::size_t n = 1 + generator() % 30; n > 0; --n)
      word += "ac"[generator() % 2];
    Ids alone = tokenizer->encode(word);
    alone.resize(alone.size() + 40, *tokenizer->find("b"));
    EXPECT_EQ(tokenizer->encode(word + std::string(40, 'b')), alone) << word;
  }
}

TEST(SentencePieceTest, TheHighestScoreIsMergedFirstAndTheLeftmostOfEquals) {
  EXPECT_THAT(make_tokenizer(hand_made({"bc", "ab", "a", "b", "c"}))->encode("abc"),
              ElementsAre(3, 1));  // a bc
  EXPECT_THAT(make_tokenizer(hand_made({"aa", "a"}))->encode("aaa"), ElementsAre(1, 2));
  TokenizerData data = hand_made({"ab", "bc", "a", "b", "c"});
  std::fill(data.scores.begin(), data.scores.end(), -7.5f);
  EXPECT_THAT(make_tokenizer(std::move(data))->encode("abc"), ElementsAre(1, 5));
  data = hand_made({"ab", "bc", "a", "b", "c"});
  data.scores[1] = -0.0f;
  data.scores[2] = 0.0f;
  EXPECT_THAT(make_tokenizer(std::move(data))->encode("abc"), ElementsAre(1, 5));
}

TEST(SentencePieceTest, BlanksAreCutOnlyWhereNoPieceCrosses) {
  const std::string crossing = str_cat("x", kBlank, "y");
  const auto tokenizer = make_tokenizer(
      hand_made({"x" + std::string(kBlank), crossing, "x", "y", "z", std::string(kBlank)}));
  EXPECT_THAT(tokenizer->encode("x y"), ElementsAre(2));
  EXPECT_THAT(tokenizer->encode("z y"), ElementsAre(5, 6, 4));
  EXPECT_THAT(tokenizer->encode("x z"), ElementsAre(1, 5));
}

TEST(SentencePieceTest, WhatNoPieceIsBecomesBytes) {
  TokenizerData data = hand_made({"a"});
  add_bytes(data);
  const auto tokenizer = make_tokenizer(std::move(data));
  EXPECT_THAT(tokenizer->encode("a\u00e9\n"), ElementsAre(1, 2 + 0xC3, 2 + 0xA9, 2 + 0x0A));
  EXPECT_EQ(tokenizer->token_bytes(2 + 0x0A), "\n");
  EXPECT_EQ(tokenizer->token_text(2 + 0x0A), "<0x0A>");
  // What merely looks like a byte token is text.
  const Ids ids = tokenizer->encode("<0x61>");
  EXPECT_EQ(ids.size(), 6u);
  EXPECT_EQ(bytes_of(*tokenizer, ids), "<0x61>");
}

TEST(SentencePieceTest, WithoutBytesItIsUnknownOnceForSeveral) {
  const auto tokenizer = make_tokenizer(hand_made({"a"}));
  EXPECT_THAT(tokenizer->encode("\u4e2d\u8a9ea\u4e2d"), ElementsAre(0, 1, 0));
  TokenizerData data = hand_made({"a"});
  data.unknown_token_id.reset();
  EXPECT_THAT(make_tokenizer(std::move(data))->encode("\u4e2da"), ElementsAre(1));
}

TEST(SentencePieceTest, TextSpellsNoControlToken) {
  TokenizerData data = hand_made({"<", "e", ">", "<e", "<e>x", "x"});
  add_bytes(data);
  add_token(data, "<e>", TokenType::kControl);
  const auto tokenizer = make_tokenizer(std::move(data));
  const TokenId control = *tokenizer->find("<e>");
  EXPECT_THAT(tokenizer->encode("<e>"), ElementsAre(control));
  EXPECT_THAT(tokenizer->encode("<e>", {.parse_special = false}), ElementsAre(4, 3));
  const std::array<ByteRange, 1> literal = {{{0, 3}}};
  EXPECT_THAT(tokenizer->encode("<e><e>", {.literal_ranges = literal}), ElementsAre(4, 3, control));
}

TEST(SentencePieceTest, UserDefinedTokensAreFoundInLiteralTextAndAcrossItsEnds) {
  TokenizerData data = hand_made({"a", "n"});
  add_bytes(data);
  add_token(data, "<c>", TokenType::kControl);
  add_token(data, "nn", TokenType::kUserDefined);
  add_token(data, "nnn", TokenType::kUserDefined);
  add_token(data, "<c", TokenType::kUserDefined);
  const auto tokenizer = make_tokenizer(std::move(data));
  const TokenId control = *tokenizer->find("<c>");
  const TokenId two = *tokenizer->find("nn");
  const TokenId three = *tokenizer->find("nnn");
  const TokenId half = *tokenizer->find("<c");
  const TokenId bracket = *tokenizer->find("<0x3E>");
  EXPECT_THAT(tokenizer->encode("annn"), ElementsAre(1, three));
  EXPECT_THAT(tokenizer->encode("annn", {.parse_special = false}), ElementsAre(1, three));
  const std::array<ByteRange, 1> literal = {{{2, 3}}};
  EXPECT_THAT(tokenizer->encode("annn", {.literal_ranges = literal}), ElementsAre(1, three));
  EXPECT_THAT(tokenizer->encode("<c>nn<c>"), ElementsAre(control, two, control));
  EXPECT_THAT(tokenizer->encode("<c>nn<c>", {.literal_ranges = literal}),
              ElementsAre(half, bracket, two, control));
}

TEST(SentencePieceTest, BlanksOfUserDefinedTokensMayBeEscaped) {
  TokenizerData data = hand_made({"a", std::string(kBlank)});
  add_token(data, str_cat(kBlank, kBlank), TokenType::kUserDefined);
  const auto tokenizer = make_tokenizer(std::move(data));
  EXPECT_THAT(tokenizer->encode("a   a"), ElementsAre(1, 3, 2, 1));
  EXPECT_EQ(tokenizer->token_bytes(3), "  ");
  EXPECT_EQ(tokenizer->token_text(3), str_cat(kBlank, kBlank));
}

TEST(SentencePieceTest, AnEscapedBlankInTextIsABlank) {
  const auto tokenizer =
      make_tokenizer(hand_made({str_cat(kBlank, "a"), "a", std::string(kBlank)}));
  EXPECT_THAT(tokenizer->encode(str_cat(kBlank, "a a")), ElementsAre(1, 1));
}

TEST(SentencePieceTest, ABlankInFrontIsAddedToTextAndTakenOffAgain) {
  TokenizerData data = hand_made({str_cat(kBlank, "a"), "a", std::string(kBlank)});
  add_token(data, "<c>", TokenType::kControl);
  data.add_space_prefix = true;
  data.add_bos_token = true;
  data.bos_token_id = 4;
  const auto tokenizer = make_tokenizer(std::move(data));
  EXPECT_THAT(tokenizer->encode("aa"), ElementsAre(4, 1, 2));
  EXPECT_THAT(tokenizer->encode(" a"), ElementsAre(4, 3, 1));
  EXPECT_THAT(tokenizer->encode(""), ElementsAre(4));
  EXPECT_THAT(tokenizer->encode("<c>a"), ElementsAre(4, 4, 2));
  for (const char* text : {"a", " a", "aa a", ""})
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text), true), text);
  // What is generated goes on from a prompt: nothing was added there.
  Detokenizer detokenizer(*tokenizer, true);
  EXPECT_EQ(detokenizer.push(1), " a");
}

TEST(SentencePieceTest, RefusesAVocabularyWithoutAScoreForEachToken) {
  TokenizerData data = hand_made({"a", "b"});
  data.scores.pop_back();
  const auto tokenizer = Tokenizer::create(std::move(data));
  ASSERT_FALSE(tokenizer.has_value());
  EXPECT_THAT(tokenizer.error().message, HasSubstr("a score for each of 3 tokens, found 2"));
}

TEST(SentencePieceTest, NothingIsNothing) {
  EXPECT_THAT(small_gemma().encode(""), IsEmpty());
  EXPECT_EQ(small_gemma().decode({}, true), "");
}

}  // namespace
}  // namespace tvllm::tokenizer
