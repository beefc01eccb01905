// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "base/strings.h"
#include "loader/load_model_file.h"
#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::tokenizer {
namespace {

TEST(Gemma3FileTest, EncodesAsSentencePieceDoesWithTheWholeVocabulary) {
  const std::string path = TVLLM_MODELS "/gemma-3-270m-q4_k_m.gguf";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no Gemma in models/: scripts/setup --models gets it";
  Result<loader::ModelFile> file = loader::load_model_file(path);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(file->tokenizer));
  for (const std::vector<std::string>& row : read_rows("sentence_piece_encodings.tsv")) {
    const std::string text = to_text(boost::json::parse(row[0]));
    const std::vector<TokenId> ids = tokenizer->encode(text, {.add_special_tokens = false});
    EXPECT_EQ(ids, parse_ids(row[2])) << quoted(text);
    EXPECT_EQ(tokenizer->decode(ids, false), text);
  }
  EXPECT_EQ(tokenizer->encode("Hello").front(), 2);  // BOS
}

}  // namespace
}  // namespace tvllm::tokenizer
