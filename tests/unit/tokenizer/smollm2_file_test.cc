// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "loader/load_model_file.h"
#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::tokenizer {
namespace {

TEST(SmolLm2FileTest, HasTheVocabularyThatTheOtherTestsUse) {
  const std::string path = TVLLM_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no model in models/: scripts/setup gets it";
  Result<loader::ModelFile> file = loader::load_model_file(path);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  TokenizerData& data = file->tokenizer;
  const TokenizerData compact = smollm2_data();
  EXPECT_EQ(data.model, compact.model);
  EXPECT_EQ(data.pre_tokenizer, compact.pre_tokenizer);
  EXPECT_TRUE(data.tokens == compact.tokens);
  EXPECT_TRUE(data.token_types == compact.token_types);
  EXPECT_TRUE(data.merges == compact.merges);
  EXPECT_EQ(data.bos_token_id, compact.bos_token_id);
  EXPECT_EQ(data.eos_token_id, compact.eos_token_id);
  EXPECT_EQ(data.unknown_token_id, compact.unknown_token_id);
  EXPECT_EQ(data.padding_token_id, compact.padding_token_id);
  EXPECT_EQ(data.add_bos_token, compact.add_bos_token);
  EXPECT_EQ(data.add_eos_token, compact.add_eos_token);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
  EXPECT_EQ(tokenizer->encode("Hello, world!"), (std::vector<TokenId>{19556, 28, 905, 17}));
}

}  // namespace
}  // namespace tvllm::tokenizer
