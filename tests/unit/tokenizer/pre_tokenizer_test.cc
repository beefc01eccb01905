// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::tokenizer {
namespace {

std::vector<std::string> words_of(std::string_view name, std::string_view text) {
  const std::optional<PreTokenizer> pre_tokenizer = find_pre_tokenizer(name);
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(pre_tokenizer->pattern, text, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::vector<TokenId> lens_of(const std::vector<std::string>& words) {
  std::vector<TokenId> lens;
  lens.reserve(words.size());
  for (const std::string& word : words)
    lens.push_back(static_cast<TokenId>(word.size()));
  return lens;
}

class PreTokenizerPatternTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Hf, PreTokenizerPatternTest,
                         testing::Values("smollm", "gpt-2", "llama-bpe", "qwen2"),
                         [](const auto& pattern) {
                           std::string name = pattern.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(PreTokenizerPatternTest, CutsTheWordsThatHfCuts) {
  const boost::json::value splits = read_json("splits.json");
  for (const boost::json::value& entry : splits.as_array()) {
    const boost::json::object& split = entry.as_object();
    const std::string text = to_text(split.at("text"));
    const auto own = split.find(GetParam());
    const boost::json::value& lens = own != split.end() ? own->value() : split.at("smollm");
    EXPECT_EQ(lens_of(words_of(GetParam(), text)), to_ids(lens)) << quoted(text);
  }
}

TEST_P(PreTokenizerPatternTest, CutsAnyBytesIntoWordsThatAreNotEmpty) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte)
    text += static_cast<char>(byte);
  std::string joined;
  for (const std::string& word : words_of(GetParam(), text)) {
    EXPECT_FALSE(word.empty());
    joined += word;
  }
  EXPECT_EQ(joined, text);
}

TEST_P(PreTokenizerPatternTest, TakesAnInvalidPartForASymbol) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of(GetParam(), "ab\xFF\xC3 c"), (Words{"ab", "\xFF\xC3", " c"}));
  EXPECT_EQ(words_of(GetParam(), "!\xE4\xB8!"), Words{"!\xE4\xB8!"});
  EXPECT_EQ(words_of(GetParam(), "a \xF0\x9F"), (Words{"a", " \xF0\x9F"}));
}

TEST(PreTokenizerTest, ALongSIsAnSWhenCaseIsIgnored) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of("llama-bpe", "it'\u017Fx"), (Words{"it", "'\u017F", "x"}));
  EXPECT_EQ(words_of("gpt-2", "it'\u017Fx"), (Words{"it", "'", "\u017Fx"}));
}

TEST(PreTokenizerTest, SmollmSplitsNumbersOfUnicode17AsRustDoes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of("smollm", "!\U00011DE0!"), (Words{"!", "\U00011DE0", "!"}));
  EXPECT_EQ(words_of("gpt-2", "!\U00011DE0!"), Words{"!\U00011DE0!"});
}

TEST(PreTokenizerTest, NamesOfOnePatternAgree) {
  for (const char* name : {"llama3", "llama-v3"}) {
    const std::optional<PreTokenizer> found = find_pre_tokenizer(name);
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_EQ(found->pattern, WordPattern::kLlama3);
    EXPECT_TRUE(found->ignore_merges);
  }
  EXPECT_EQ(find_pre_tokenizer("deepseek-r1-qwen")->pattern, WordPattern::kQwen2);
  EXPECT_EQ(find_pre_tokenizer("starcoder")->pattern, WordPattern::kSmollm);
  EXPECT_FALSE(find_pre_tokenizer("smollm")->ignore_merges);
}

TEST(PreTokenizerTest, KnowsNoNameThatItIsNotSureOf) {
  for (const char* name : {"", "default", "qwen35", "deepseek-v3", "gpt-4o", "SMOLLM", "smollm "})
    EXPECT_FALSE(find_pre_tokenizer(name).has_value()) << name;
}

}  // namespace
}  // namespace tvllm::tokenizer
