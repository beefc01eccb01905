// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_tokenizer_data.h"

#include <limits>

#include "loader/gguf_limits.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

using ::testing::ElementsAre;

// Six tokens: ids 0 and 1 are control tokens.
GgufBuilder small_vocabulary() {
  return GgufBuilder()
      .str("tokenizer.ggml.model", "gpt2")
      .str("tokenizer.ggml.pre", "smollm")
      .strings("tokenizer.ggml.tokens", {"<|endoftext|>", "<|im_end|>", "a", "b", "ab", "c"})
      .i32s("tokenizer.ggml.token_type", {3, 3, 1, 1, 1, 4})
      .strings("tokenizer.ggml.merges", {"a b"})
      .u32("tokenizer.ggml.eos_token_id", 1);
}

Result<TokenizerData> read(const GgufBuilder& builder) {
  const std::string bytes = builder.build();
  const Result<GgufFile> file = parse(bytes);
  if (!file) return file.error();
  return read_tokenizer_data(*file);
}

void expect_error(const GgufBuilder& builder, const std::vector<std::string_view>& parts) {
  const Result<TokenizerData> data = read(builder);
  ASSERT_FALSE(data);
  expect_refusal(data.error(), parts);
}

Result<std::vector<TokenId>> end_ids(const GgufBuilder& builder) {
  const std::string bytes = builder.build();
  const Result<GgufFile> file = parse(bytes);
  if (!file) return file.error();
  TVLLM_TRY(const TokenizerData data, read_tokenizer_data(*file));
  return read_end_token_ids(*file, data);
}

TEST(GgufTokenizerDataTest, ReadsAllThatAFileHas) {
  const Result<TokenizerData> data = read(small_vocabulary()
                                              .f32s("tokenizer.ggml.scores", {0, 0, -1, -2, -3, -4})
                                              .u32("tokenizer.ggml.bos_token_id", 0)
                                              .u32("tokenizer.ggml.unknown_token_id", 5)
                                              .u32("tokenizer.ggml.padding_token_id", 2)
                                              .boolean("tokenizer.ggml.add_bos_token", true)
                                              .boolean("tokenizer.ggml.add_eos_token", true)
                                              .boolean("tokenizer.ggml.add_space_prefix", true)
                                              .str("tokenizer.chat_template", "{{ 'caf\u00e9' }}"));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->model, "gpt2");
  EXPECT_EQ(data->pre_tokenizer, "smollm");
  EXPECT_THAT(data->tokens, ElementsAre("<|endoftext|>", "<|im_end|>", "a", "b", "ab", "c"));
  EXPECT_EQ(data->token_types[0], TokenType::kControl);
  EXPECT_EQ(data->token_types[2], TokenType::kNormal);
  EXPECT_EQ(data->token_types[5], TokenType::kUserDefined);
  EXPECT_THAT(data->scores, ElementsAre(0, 0, -1, -2, -3, -4));
  EXPECT_THAT(data->merges, ElementsAre(std::pair<std::string, std::string>("a", "b")));
  EXPECT_EQ(data->bos_token_id, 0);
  EXPECT_EQ(data->eos_token_id, 1);
  EXPECT_EQ(data->unknown_token_id, 5);
  EXPECT_EQ(data->padding_token_id, 2);
  EXPECT_TRUE(data->add_bos_token);
  EXPECT_TRUE(data->add_eos_token);
  EXPECT_TRUE(data->add_space_prefix);
  EXPECT_EQ(data->chat_template, "{{ 'caf\u00e9' }}");
}

TEST(GgufTokenizerDataTest, WhatAFileDoesNotSayStaysEmpty) {
  const Result<TokenizerData> data = read(small_vocabulary()
                                              .erase("tokenizer.ggml.pre")
                                              .erase("tokenizer.ggml.token_type")
                                              .erase("tokenizer.ggml.eos_token_id"));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->pre_tokenizer, "");
  EXPECT_EQ(data->token_types, std::vector<TokenType>(6, TokenType::kNormal));
  EXPECT_TRUE(data->scores.empty());
  EXPECT_FALSE(data->bos_token_id || data->eos_token_id || data->unknown_token_id ||
               data->padding_token_id);
  EXPECT_FALSE(data->add_bos_token || data->add_eos_token || data->add_space_prefix);
  EXPECT_EQ(data->chat_template, "");
}

TEST(GgufTokenizerDataTest, KindsOfTokenizerHaveTheirOwnDefaults) {
  GgufBuilder sentencepiece = small_vocabulary();
  sentencepiece.str("tokenizer.ggml.model", "llama").erase("tokenizer.ggml.merges");
  EXPECT_FALSE(read(sentencepiece)->add_bos_token) << "there is no BOS to add";
  sentencepiece.u32("tokenizer.ggml.bos_token_id", 0);
  EXPECT_TRUE(read(sentencepiece)->add_bos_token);
  EXPECT_TRUE(read(sentencepiece)->add_space_prefix);
  sentencepiece.boolean("tokenizer.ggml.add_bos_token", false);
  sentencepiece.boolean("tokenizer.ggml.add_space_prefix", false);
  EXPECT_FALSE(read(sentencepiece)->add_bos_token);
  EXPECT_FALSE(read(sentencepiece)->add_space_prefix);

  GgufBuilder byte_level = small_vocabulary();
  byte_level.u32("tokenizer.ggml.bos_token_id", 0);
  EXPECT_FALSE(read(byte_level)->add_bos_token);
  for (const std::string_view pre : {"llama-bpe", "llama3", "llama-v3", "tekken", "pixtral"})
    EXPECT_TRUE(read(byte_level.str("tokenizer.ggml.pre", pre))->add_bos_token) << pre;
}

TEST(GgufTokenizerDataTest, TheVocabularyMustBeThere) {
  expect_error(small_vocabulary().erase("tokenizer.ggml.model"),
               {"'tokenizer.ggml.model'", "missing"});
  expect_error(small_vocabulary().erase("tokenizer.ggml.tokens"),
               {"'tokenizer.ggml.tokens'", "missing"});
  expect_error(small_vocabulary().strings("tokenizer.ggml.tokens", {}),
               {"'tokenizer.ggml.tokens' at offset", "expected 1 to 1048576 tokens, found 0"});
  expect_error(small_vocabulary().erase("tokenizer.ggml.merges"),
               {"'tokenizer.ggml.merges'", "missing"});
  expect_error(small_vocabulary().i32s("tokenizer.ggml.tokens", {1}),
               {"'tokenizer.ggml.tokens'", "found array of int32"});
}

TEST(GgufTokenizerDataTest, ListsHaveOneElementForEachToken) {
  expect_error(small_vocabulary().i32s("tokenizer.ggml.token_type", {3, 3, 1, 1, 1}),
               {"'tokenizer.ggml.token_type'", "each of 6 tokens, found 5"});
  expect_error(small_vocabulary().f32s("tokenizer.ggml.scores", std::vector<float>(7)),
               {"'tokenizer.ggml.scores'", "each of 6 tokens, found 7"});
}

TEST(GgufTokenizerDataTest, TokenTypesAreThoseOfTheFormat) {
  for (const std::int32_t type : {0, 7, -1, std::numeric_limits<std::int32_t>::max()}) {
    expect_error(small_vocabulary().i32s("tokenizer.ggml.token_type", {3, 3, 1, type, 1, 1}),
                 {"'tokenizer.ggml.token_type'", "expected 1 to 6, found", "for token 3"});
  }
}

TEST(GgufTokenizerDataTest, ScoresAreNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_error(small_vocabulary().f32s("tokenizer.ggml.scores", {0, nan, 0, 0, 0, 0}),
               {"'tokenizer.ggml.scores'", "NaN for token 1"});
}

TEST(GgufTokenizerDataTest, TextIsUtf8) {
  expect_error(
      small_vocabulary().strings("tokenizer.ggml.tokens", {"a", "b", "\xff", "c", "d", "e"}),
      {"'tokenizer.ggml.tokens'", "expected UTF-8, found token 2 '\\xff'"});
  expect_error(small_vocabulary().str("tokenizer.chat_template", "\xc3"),
               {"'tokenizer.chat_template'", "expected UTF-8"});
  expect_error(small_vocabulary().str("tokenizer.ggml.pre", "\xc3"), {"expected UTF-8"});
}

TEST(GgufTokenizerDataTest, MergesAreTwoPartsWithABlankBetween) {
  const Result<TokenizerData> data =
      read(small_vocabulary().strings("tokenizer.ggml.merges", {"a b", "ab c", " a b"}));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->merges[1], (std::pair<std::string, std::string>("ab", "c")));
  EXPECT_EQ(data->merges[2], (std::pair<std::string, std::string>(" a", "b")));
  for (const std::string merge : {"", "a", "ab", " ", "a ", " a", "a b c", "a \xff"}) {
    expect_error(small_vocabulary().strings("tokenizer.ggml.merges", {"a b", merge}),
                 {"'tokenizer.ggml.merges'", "two parts", "as merge 1"});
  }
}

TEST(GgufTokenizerDataTest, SpecialIdsAreInsideTheVocabulary) {
  for (const char* name : {"bos", "eos", "unknown", "padding"}) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    EXPECT_TRUE(read(small_vocabulary().u32(key, 5)));
    for (const std::uint32_t id : {6u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      expect_error(small_vocabulary().u32(key, id),
                   {key, "a token id below 6, found " + std::to_string(id)});
    }
    expect_error(small_vocabulary().i32(key, -1), {key, "found int32"});
  }
}

TEST(GgufTokenizerDataTest, ATokenThatIsToBeAddedMustExist) {
  expect_error(small_vocabulary().boolean("tokenizer.ggml.add_bos_token", true),
               {"'tokenizer.ggml.add_bos_token'", "no bos_token_id"});
  expect_error(small_vocabulary()
                   .erase("tokenizer.ggml.eos_token_id")
                   .boolean("tokenizer.ggml.add_eos_token", true),
               {"'tokenizer.ggml.add_eos_token'", "no eos_token_id"});
}

TEST(GgufTokenizerDataTest, VocabulariesHaveALimit) {
  const std::vector<std::string> most(kMaxTokens, "");
  std::vector<std::string> more = most;
  more.emplace_back();
  const auto with = [](const std::vector<std::string>& tokens) {
    return small_vocabulary()
        .erase("tokenizer.ggml.token_type")
        .strings("tokenizer.ggml.tokens", tokens);
  };
  EXPECT_TRUE(read(with(most)));
  expect_error(with(more), {"'tokenizer.ggml.tokens'", "found 1048577"});
  expect_error(small_vocabulary().strings("tokenizer.ggml.merges",
                                          std::vector<std::string>(kMaxMerges + 1, "a b")),
               {"'tokenizer.ggml.merges'", "at most 2097152 merges, found 2097153"});
}

TEST(GgufTokenizerDataTest, AGenerationEndsAtEverythingThatTheFileNames) {
  EXPECT_THAT(*end_ids(small_vocabulary()
                           .u32("tokenizer.ggml.eos_token_id", 2)
                           .u32("tokenizer.ggml.eot_token_id", 5)
                           .u32("tokenizer.ggml.eom_token_id", 2)),
              ElementsAre(2, 5, 0, 1));
  expect_refusal(end_ids(small_vocabulary().u32("tokenizer.ggml.eot_token_id", 6)).error(),
                 {"'tokenizer.ggml.eot_token_id'", "below 6"});
  expect_refusal(end_ids(small_vocabulary().u32("tokenizer.ggml.eom_token_id", 7)).error(),
                 {"'tokenizer.ggml.eom_token_id'", "below 6"});
}

TEST(GgufTokenizerDataTest, AGenerationEndsAtControlTokensThatAreKnownEnds) {
  const std::vector<std::string> ends = {"<|im_end|>",        "<|eot_id|>",    "<|eom_id|>",
                                         "<|end_of_text|>",   "<|endoftext|>", "<end_of_turn>",
                                         "<|end_of_tunnel|>", "<|im_start|>"};
  const auto with_types = [&ends](const std::vector<std::int32_t>& types) {
    return small_vocabulary()
        .strings("tokenizer.ggml.tokens", ends)
        .i32s("tokenizer.ggml.token_type", types)
        .u32("tokenizer.ggml.eos_token_id", 4);
  };
  EXPECT_THAT(*end_ids(with_types(std::vector<std::int32_t>(8, 3))), ElementsAre(4, 0, 1, 2, 3, 5));
  // The same text as an ordinary token ends nothing.
  EXPECT_THAT(*end_ids(with_types({1, 4, 3, 1, 1, 1, 1, 1})), ElementsAre(4, 2));
}

TEST(GgufTokenizerDataTest, AModelWithoutAnyEndIsRight) {
  EXPECT_THAT(*end_ids(small_vocabulary()
                           .erase("tokenizer.ggml.eos_token_id")
                           .erase("tokenizer.ggml.token_type")),
              ElementsAre());
}

}  // namespace
}  // namespace tvllm::loader
