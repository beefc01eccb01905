// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>

#include "base/strings.h"
#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::tokenizer {
namespace {

using testing::HasSubstr;
using Ids = std::vector<TokenId>;

Error error_of(TokenizerData data) {
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(std::move(data));
  return tokenizer.has_value() ? Error{ErrorCode::kInternal, "no error", ""} : tokenizer.error();
}

class TokenizerPatternTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Hf, TokenizerPatternTest,
                         testing::Values("smollm", "gpt-2", "llama-bpe", "qwen2"),
                         [](const auto& pattern) {
                           std::string name = pattern.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(TokenizerPatternTest, EncodesAsHfDoes) {
  TokenizerData data = smollm2_data();
  data.pre_tokenizer = GetParam();
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
  const boost::json::value golden = read_json("encodings.json");
  for (const boost::json::value& entry : golden.at("cases").as_array()) {
    const boost::json::object& example = entry.as_object();
    const std::string text = to_text(example.at("text"));
    const auto own = example.find(GetParam());
    const boost::json::value& ids = own != example.end() ? own->value() : example.at("smollm");
    EXPECT_EQ(tokenizer->encode(text), to_ids(ids)) << quoted(text);
  }
}

TEST(TokenizerTest, WithoutParsingControlTokensAgreesWithHf) {
  const boost::json::value golden = read_json("encodings.json");
  for (const boost::json::value& entry : golden.at("cases").as_array()) {
    const boost::json::object& example = entry.as_object();
    const std::string text = to_text(example.at("text"));
    const boost::json::value* plain = example.if_contains("plain");
    const Ids expected = to_ids(plain != nullptr ? *plain : example.at("smollm"));
    EXPECT_EQ(smollm2().encode(text, {.parse_special = false}), expected) << quoted(text);
    const std::array<ByteRange, 1> all = {{{0, text.size()}}};
    EXPECT_EQ(smollm2().encode(text, {.literal_ranges = all}), expected) << quoted(text);
  }
}

TEST(TokenizerTest, FindsTheEarliestAndLongestAddedTokenAsHfDoes) {
  const boost::json::value golden = read_json("encodings.json");
  TokenizerData data = smollm2_data();
  for (const boost::json::value& text : golden.at("added_tokens").as_array()) {
    data.tokens.push_back(to_text(text));
    data.token_types.push_back(TokenType::kUserDefined);
  }
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
  for (const boost::json::value& example : golden.at("added_cases").as_array()) {
    const std::string text = to_text(example.at("text"));
    EXPECT_EQ(tokenizer->encode(text), to_ids(example.at("ids"))) << quoted(text);
  }
  const TokenId accented = *tokenizer->find("\u00E9!");
  EXPECT_EQ(tokenizer->token_bytes(accented), "\u00E9!");  // text, not the byte alphabet
  EXPECT_FALSE(tokenizer->is_special(accented));
}

TEST(TokenizerTest, DecodesAsHfDoes) {
  const boost::json::value golden = read_json("encodings.json");
  for (const boost::json::value& entry : golden.at("decodings").as_array()) {
    const boost::json::object& example = entry.as_object();
    const Ids ids = to_ids(example.at("ids"));
    const boost::json::value* with_special = example.if_contains("with_special");
    const boost::json::value& text = example.at("text");
    EXPECT_EQ(smollm2().decode(ids, true), to_text(text));
    EXPECT_EQ(smollm2().decode(ids, false), to_text(with_special ? *with_special : text));
  }
}

TEST(TokenizerTest, LeavesOutBytesThatHaveNoToken) {
  EXPECT_EQ(smollm2().encode("a\x04\x62"), (Ids{81, 82}));
  for (const char byte : {'\x04', '\x06', '\x13', '\x14', '\x16', '\x1d'})
    EXPECT_TRUE(smollm2().encode(std::string(3, byte)).empty());
  EXPECT_TRUE(smollm2().encode("").empty());
}

TEST(TokenizerTest, AnyBytesComeBack) {
  std::string text;
  for (int i = 0; i < 1024; ++i)
    text += static_cast<char>(i * i % 251 + i / 256);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(byte_data());
  std::string joined;
  for (const TokenId id : tokenizer->encode(text))
    joined += tokenizer->token_bytes(id);
  EXPECT_EQ(joined, text);
}

TEST(TokenizerTest, AddsBosAndEosAsTheFileSays) {
  TokenizerData data = byte_data({"<s>", "</s>"});
  data.bos_token_id = 256;
  data.eos_token_id = 257;
  EXPECT_EQ(make_tokenizer(data)->encode("a"), Ids{'a'});
  data.add_bos_token = true;
  EXPECT_EQ(make_tokenizer(data)->encode("a"), (Ids{256, 'a'}));
  EXPECT_EQ(make_tokenizer(data)->encode(""), Ids{256});
  EXPECT_EQ(make_tokenizer(data)->encode("a", {.add_special_tokens = false}), Ids{'a'});
  data.add_eos_token = true;
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(data);
  EXPECT_EQ(tokenizer->encode("<s>a"), (Ids{256, 256, 'a', 257}));
  EXPECT_EQ(tokenizer->bos_token_id(), 256);
  EXPECT_EQ(tokenizer->eos_token_id(), 257);
  EXPECT_EQ(tokenizer->unknown_token_id(), std::nullopt);
  EXPECT_EQ(tokenizer->padding_token_id(), std::nullopt);
  EXPECT_TRUE(tokenizer->adds_bos_token());
  EXPECT_TRUE(tokenizer->adds_eos_token());
}

// Encodes with one literal range, that of `literal` in `text`.
Ids encode_around(const Tokenizer& tokenizer, std::string_view text, std::string_view literal) {
  const std::size_t begin = text.find(literal);
  const std::array<ByteRange, 1> ranges = {{{begin, begin + literal.size()}}};
  return tokenizer.encode(text, {.literal_ranges = ranges});
}

TEST(TokenizerTest, AControlTokenThatAUserWroteIsPlainText) {
  const Ids im_end = smollm2().encode("<|im_end|>", {.parse_special = false});
  EXPECT_GT(im_end.size(), 1u);
  const std::string_view text = "<|im_start|>x<|im_end|>y<|im_end|>";
  Ids expected = {1};
  for (const TokenId id : smollm2().encode("x<|im_end|>y", {.parse_special = false}))
    expected.push_back(id);
  expected.push_back(2);
  EXPECT_EQ(encode_around(smollm2(), text, "x<|im_end|>y"), expected);
}

TEST(TokenizerTest, AControlTokenThatTouchesALiteralRangeIsPlainText) {
  const Ids plain = smollm2().encode("<|im_end|>", {.parse_special = false});
  EXPECT_EQ(encode_around(smollm2(), "<|im_end|>", "<"), plain);
  EXPECT_EQ(encode_around(smollm2(), "<|im_end|>", ">"), plain);
  EXPECT_EQ(encode_around(smollm2(), "<|im_end|>", "im"), plain);
  const Ids x = smollm2().encode("x");
  EXPECT_EQ(encode_around(smollm2(), "x<|im_end|>x", "x"), (Ids{x[0], 2, x[0]}));
}

TEST(TokenizerTest, AUserCannotCompleteAControlToken) {
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(byte_data({"<a>", "<a><b>"}));
  EXPECT_EQ(tokenizer->encode("<a><b>"), Ids{257});
  // The template's <a> stays one although the longer token is not allowed.
  EXPECT_EQ(encode_around(*tokenizer, "<a><b>", "<b>"), (Ids{256, '<', 'b', '>'}));
}

TEST(TokenizerTest, LiteralRangesDoNotCutWords) {
  EXPECT_EQ(encode_around(smollm2(), " throughout", "rough"), smollm2().encode(" throughout"));
}

TEST(TokenizerTest, TakesLiteralRangesThatAreEmptyOutOfBoundsOrUnsorted) {
  const std::array<ByteRange, 4> ranges = {{{3, 3}, {9, 4}, {10, 11}, {400, 900}}};
  EXPECT_EQ(smollm2().encode("<|im_end|><|im_end|>", {.literal_ranges = ranges})[0], 2);
  const std::array<ByteRange, 2> unsorted = {{{10, 20}, {0, 10}}};
  EXPECT_EQ(smollm2().encode("<|im_end|><|im_end|>", {.literal_ranges = unsorted}),
            smollm2().encode("<|im_end|><|im_end|>", {.parse_special = false}));
}

TEST(TokenizerTest, ShowsTokensAsBytesAndAsInTheFile) {
  EXPECT_EQ(smollm2().vocab_size(), 49152);
  EXPECT_EQ(smollm2().token_text(2126), "\u0120throughout");
  EXPECT_EQ(smollm2().token_bytes(2126), " throughout");
  EXPECT_EQ(smollm2().token_bytes(2), "<|im_end|>");
  EXPECT_EQ(smollm2().token_bytes(10813), "\xF0\x9F");
  EXPECT_EQ(smollm2().find("\u0120throughout"), 2126);
  EXPECT_EQ(smollm2().find("<|im_end|>"), 2);
  EXPECT_EQ(smollm2().find("no such token"), std::nullopt);
  EXPECT_TRUE(smollm2().is_special(16));
  EXPECT_FALSE(smollm2().is_special(17));
}

TEST(TokenizerTest, IdsOutsideOfTheVocabularyHaveNoText) {
  for (const TokenId id : {-1, 49152, 2147483647, -2147483647 - 1}) {
    EXPECT_EQ(smollm2().token_bytes(id), "");
    EXPECT_EQ(smollm2().token_text(id), "");
    EXPECT_FALSE(smollm2().is_special(id));
    EXPECT_EQ(smollm2().decode(Ids{id, 2126, id}, false), " throughout");
  }
}

TEST(TokenizerTest, ATextThatStandsTwiceBelongsToTheLowestId) {
  TokenizerData data = byte_data({"<s>", "<s>"});
  data.tokens.emplace_back("a");
  data.token_types.push_back(TokenType::kNormal);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
  EXPECT_EQ(tokenizer->encode("<s>a"), (Ids{256, 'a'}));
  EXPECT_EQ(tokenizer->find("a"), 'a');
  EXPECT_EQ(tokenizer->token_bytes(258), "a");
}

TEST(TokenizerTest, ATokenOutsideOfTheByteAlphabetIsItsText) {
  TokenizerData data = byte_data();
  data.tokens.emplace_back("a b");
  data.tokens.emplace_back("");
  data.token_types.resize(data.tokens.size(), TokenType::kNormal);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
  EXPECT_EQ(tokenizer->token_bytes(256), "a b");
  EXPECT_EQ(tokenizer->token_bytes(257), "");
  EXPECT_EQ(tokenizer->encode("a b"), (Ids{'a', ' ', 'b'}));
}

TEST(TokenizerTest, EncodesOnSeveralThreadsAtOnce) {
  const std::string text = repeat("The quick brown fox. \u4E2D\u6587 <|im_end|> 123\n", 50);
  const Ids expected = smollm2().encode(text);
  std::array<bool, 4> equal{};
  {
    std::vector<std::jthread> threads;
    threads.reserve(equal.size());
    for (bool& result : equal)
      threads.emplace_back([&] { result = smollm2().encode(text) == expected; });
  }
  EXPECT_THAT(equal, testing::Each(true));
}

TEST(TokenizerTest, RefusesAnotherModelAndAnUnknownPreTokenizer) {
  TokenizerData data = byte_data();
  data.model = "t5";
  EXPECT_EQ(error_of(data).code, ErrorCode::kUnsupported);
  EXPECT_THAT(error_of(data).message, HasSubstr("'t5'"));
  data = byte_data();
  data.pre_tokenizer = "smollm3\n";
  EXPECT_EQ(error_of(data).code, ErrorCode::kUnsupported);
  EXPECT_THAT(error_of(data).message, HasSubstr("'smollm3\\x0a' is not known"));
  for (const char* known : {"gpt-2", "smollm", "llama-bpe", "qwen2"})
    EXPECT_THAT(error_of(data).message, HasSubstr(known));
}

TEST(TokenizerTest, RefusesVocabulariesThatDoNotAddUp) {
  TokenizerData data = byte_data();
  data.tokens.clear();
  data.token_types.clear();
  EXPECT_THAT(error_of(data).message, HasSubstr("the vocabulary is empty"));
  data = byte_data();
  data.token_types.pop_back();
  EXPECT_THAT(error_of(data).message, HasSubstr("256 tokens, found 255 types"));
}

TEST(TokenizerTest, RefusesMergesOfWhatIsNoToken) {
  // Case TOK-07, bad_merge: left, right and result are looked up.
  TokenizerData data = byte_data();
  data.merges = {{"a", "zz"}};
  EXPECT_EQ(error_of(data).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(data).message,
            "tokenizer: merge 0 ('a' 'zz'): 'zz' is not a token of the vocabulary");
  data.merges = {{"zz", "a"}};
  EXPECT_THAT(error_of(data).message, HasSubstr("'zz' is not a token"));
  data.merges = {{"a", "b"}};
  EXPECT_THAT(error_of(data).message, HasSubstr("'ab' is not a token"));
}

TEST(TokenizerTest, RefusesSpecialIdsOutsideOfTheVocabulary) {
  for (std::optional<TokenId> TokenizerData::*field :
       {&TokenizerData::bos_token_id, &TokenizerData::eos_token_id,
        &TokenizerData::unknown_token_id, &TokenizerData::padding_token_id}) {
    for (const TokenId id : {-1, 256}) {
      TokenizerData data = byte_data();
      data.*field = id;
      EXPECT_THAT(error_of(data).message,
                  HasSubstr(str_cat("token is ", id, ", but the vocabulary has 256 tokens")));
    }
    TokenizerData data = byte_data();
    data.*field = 255;
    EXPECT_EQ(error_of(data).message, "no error");
  }
}

TEST(TokenizerTest, RefusesToAddABosOrEosThatIsNotNamed) {
  TokenizerData data = byte_data();
  data.add_bos_token = true;
  EXPECT_THAT(error_of(data).message, HasSubstr("a BOS token is to be added"));
  data = byte_data();
  data.add_eos_token = true;
  EXPECT_THAT(error_of(data).message, HasSubstr("an EOS token is to be added"));
}

}  // namespace
}  // namespace tvllm::tokenizer
