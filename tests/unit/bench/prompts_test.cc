// SPDX-License-Identifier: Apache-2.0
#include "bench/prompts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "bench/share_gpt.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/temp_path.h"

namespace tvllm::bench {
namespace {

class PromptsTest : public ::testing::Test {
 protected:
  std::vector<BenchPrompt> make(const PromptOptions& options) {
    Result<std::vector<BenchPrompt>> prompts = make_prompts(options, tokenizer_.get());
    EXPECT_TRUE(prompts.has_value()) << prompts.error().message;
    return prompts.has_value() ? std::move(*prompts) : std::vector<BenchPrompt>();
  }
  std::string refusal(const PromptOptions& options) {
    const Result<std::vector<BenchPrompt>> prompts = make_prompts(options, tokenizer_.get());
    return prompts.has_value() ? "" : prompts.error().message;
  }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = testing::make_byte_tokenizer();
};

TEST_F(PromptsTest, RandomPromptsHaveTheLengthTheTokenizerCounts) {
  const auto prompts = make({.num_prompts = 20, .random_input_len = 33, .random_output_len = 5});
  ASSERT_EQ(prompts.size(), 20u);
  std::set<std::string> texts;
  for (const BenchPrompt& prompt : prompts) {
    EXPECT_EQ(prompt.num_tokens, 33);
    EXPECT_EQ(prompt.token_ids, tokenizer_->encode(prompt.text));
    EXPECT_EQ(prompt.token_ids.size(), 33u);
    EXPECT_EQ(prompt.num_output_tokens, 5);
    texts.insert(prompt.text);
  }
  EXPECT_EQ(texts.size(), 20u);  // no prompt is in a cache for another
}

TEST_F(PromptsTest, TheSeedDecides) {
  const auto texts = [this](std::uint64_t seed) {
    std::string all;
    for (const BenchPrompt& prompt :
         make({.num_prompts = 3, .seed = seed, .random_input_len = 50, .random_range_ratio = 0.5}))
      all += prompt.text + "\n";
    return all;
  };
  EXPECT_EQ(texts(4), texts(4));
  EXPECT_NE(texts(4), texts(5));
}

TEST_F(PromptsTest, TheRangeRatioReachesBothEnds) {
  std::set<std::int32_t> inputs;
  std::set<std::int32_t> outputs;
  for (const BenchPrompt& prompt : make({.num_prompts = 400,
                                   .random_input_len = 10,
                                   .random_output_len = 2,
                                   .random_range_ratio = 0.5})) {
    inputs.insert(prompt.num_tokens);
    outputs.insert(prompt.num_output_tokens);
  }
  EXPECT_EQ(inputs, (std::set<std::int32_t>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(outputs, (std::set<std::int32_t>{1, 2, 3}));
}

TEST_F(PromptsTest, GeneralLengthsGoOverTheDataSets) {
  const auto prompts = make({.num_prompts = 1, .input_len = 7, .output_len = 3});
  EXPECT_EQ(prompts.front().num_tokens, 7);
  EXPECT_EQ(prompts.front().num_output_tokens, 3);
}

TEST_F(PromptsTest, ASharedPrefixStandsInFrontOfAllRandomPrompts) {
  const auto prompts = make({.num_prompts = 5, .random_input_len = 10, .random_prefix_len = 20});
  for (const BenchPrompt& prompt : prompts) {
    EXPECT_EQ(prompt.num_tokens, 30);
    EXPECT_EQ(prompt.text.substr(0, 20), prompts.front().text.substr(0, 20));
  }
  EXPECT_NE(prompts[0].text, prompts[1].text);
}

TEST_F(PromptsTest, RandomPromptsWithoutATokenAreRefused) {
  EXPECT_NE(refusal({.random_input_len = 1, .random_range_ratio = 0.5}).find("without a token"),
            std::string::npos);
  EXPECT_EQ(refusal({.num_prompts = 1, .random_input_len = 0, .random_prefix_len = 4}), "");
}

TEST_F(PromptsTest, PrefixesRepeatEquallyOftenAndAreMixed) {
  const PromptOptions options{.dataset_name = "prefix_repetition",
                              .num_prompts = 23,
                              .prefix_repetition_prefix_len = 30,
                              .prefix_repetition_suffix_len = 12,
                              .prefix_repetition_num_prefixes = 4,
                              .prefix_repetition_output_len = 6};
  const auto prompts = make(options);
  ASSERT_EQ(prompts.size(), 20u);  // 23 / 4 for each prefix, as in vLLM
  std::map<std::string, int> counts;
  std::vector<std::string> order;
  for (const BenchPrompt& prompt : prompts) {
    EXPECT_EQ(prompt.num_tokens, 42);
    EXPECT_EQ(prompt.num_output_tokens, 6);
    order.push_back(prompt.text.substr(0, 30));
    ++counts[order.back()];
  }
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [prefix, count] : counts)
    EXPECT_EQ(count, 5) << prefix;
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()) ||
               std::unique(order.begin(), order.end()) - order.begin() == 4);
}

TEST_F(PromptsTest, FewerPromptsThanPrefixesAreRefused) {
  EXPECT_EQ(refusal({.dataset_name = "prefix_repetition", .num_prompts = 9}),
            "--num-prompts 9 must be at least --prefix-repetition-num-prefixes 10");
}

TEST_F(PromptsTest, WithoutATokenizerPromptsAreThatManyWords) {
  const auto prompts =
      make_prompts({.num_prompts = 3, .random_input_len = 12, .random_prefix_len = 5}, nullptr);
  ASSERT_TRUE(prompts.has_value());
  for (const BenchPrompt& prompt : *prompts) {
    EXPECT_EQ(prompt.num_tokens, 17);
    EXPECT_TRUE(prompt.token_ids.empty());
    EXPECT_EQ(std::count(prompt.text.begin(), prompt.text.end(), ' '), 17);
  }
}

// --- ShareGPT ---

class ShareGptTest : public PromptsTest {
 protected:
  PromptOptions options(std::string_view text) {
    std::ofstream(file_.str()) << text;
    return {.dataset_name = "sharegpt", .dataset_path = file_.str(), .num_prompts = 2};
  }

  testing::TempPath file_{"share_gpt.json"};
};

constexpr std::string_view kConversations = R"([
  {"id": "1", "conversations": [{"from": "human", "value": "What is it?"},
                                {"from": "gpt", "value": "A test."}, {"value": "More?"}]},
  {"id": "2", "conversations": [{"from": "human", "value": "one turn"}]},
  {"id": "3"},
  {"id": "4", "conversations": [{"value": "Hi"}, {"value": "a prompt that is too short"}]},
  {"id": "5", "conversations": [{"value": "Too short an answer"}, {"value": "No"}]},
  {"id": "6", "conversations": [{"value": "And this?"}, {"value": "Another test."}]}])";

TEST_F(ShareGptTest, TakesTheFirstTurnAndTheLengthOfTheSecond) {
  PromptOptions wanted = options(kConversations);
  wanted.disable_shuffle = true;
  const auto prompts = make(wanted);
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[0].text, "What is it?");
  EXPECT_EQ(prompts[0].num_tokens, 11);
  EXPECT_EQ(prompts[0].num_output_tokens, 7);
  EXPECT_EQ(prompts[1].text, "And this?");
  EXPECT_EQ(prompts[1].num_output_tokens, 13);
}

TEST_F(ShareGptTest, AGivenLengthGoesOverTheFilesAndAllowsShortAnswers) {
  PromptOptions wanted = options(kConversations);
  wanted.disable_shuffle = true;
  wanted.sharegpt_output_len = 3;
  const auto prompts = make(wanted);
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[1].text, "Too short an answer");
  EXPECT_EQ(prompts[1].num_output_tokens, 3);
}

TEST_F(ShareGptTest, TooFewAreTakenAgainUnlessThatIsNotWanted) {
  PromptOptions wanted = options(kConversations);
  wanted.num_prompts = 9;
  EXPECT_EQ(make(wanted).size(), 9u);
  wanted.no_oversample = true;
  EXPECT_EQ(make(wanted).size(), 2u);
}

TEST_F(ShareGptTest, BadFilesAreRefusedByName) {
  const auto said = [this](std::string_view text) { return refusal(options(text)); };
  EXPECT_NE(said("{").find("no valid JSON"), std::string::npos);
  EXPECT_NE(said("{}").find("expected an array"), std::string::npos);
  EXPECT_NE(said("[7]").find("entry 0: expected an object"), std::string::npos);
  EXPECT_NE(said(R"([{"conversations": 7}])").find("entry 0: 'conversations' must be an array"),
            std::string::npos);
  EXPECT_NE(said(R"([{}, {"conversations": [{"value": 7}, {}]}])").find("entry 1: a turn"),
            std::string::npos);
  EXPECT_NE(said("[]").find("no conversation has"), std::string::npos);
  PromptOptions absent = options("[]");
  absent.dataset_path += ".absent";
  EXPECT_NE(refusal(absent).find("No such file"), std::string::npos);
  absent.dataset_path.clear();
  EXPECT_NE(refusal(absent).find("needs --dataset-path"), std::string::npos);
}

TEST_F(ShareGptTest, NeedsATokenizerAndOnlyItHasAPath) {
  EXPECT_FALSE(make_prompts(options("[]"), nullptr).has_value());
  PromptOptions random = options("[]");
  random.dataset_name = "random";
  EXPECT_NE(refusal(random).find("--dataset-path is for"), std::string::npos);
}

}  // namespace
}  // namespace tvllm::bench
