// SPDX-License-Identifier: Apache-2.0
// The inputs that the fuzzer starts from (tools/make_gguf_corpus.py). The valid ones were written
// by the Python package `gguf`, not by this repository.
#include <filesystem>
#include <fstream>

#include "loader/load_model_file.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

std::string corpus_file(const std::string& name) {
  return std::string(TVLLM_TEST_DATA) + "/../fuzz/corpus/gguf/" + name + ".gguf";
}

ModelFile load(const std::string& name) {
  Result<ModelFile> model = load_model_file(corpus_file(name));
  EXPECT_TRUE(model) << model.error().message;
  return model ? std::move(*model) : ModelFile();
}

TEST(CorpusTest, ValidModelsLoadAndTheOthersDoNot) {
  int num_valid = 0;
  int num_bad = 0;
  const std::filesystem::path folder = std::filesystem::path(corpus_file("x")).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_valid = entry.path().filename().string().starts_with("valid_");
    const Result<ModelFile> model = load_model_file(entry.path().string());
    EXPECT_EQ(model.has_value(), is_valid)
        << (model ? entry.path().string() : model.error().message);
    ++(is_valid ? num_valid : num_bad);
  }
  EXPECT_EQ(num_valid, 3);
  EXPECT_GE(num_bad, 23);
}

TEST(CorpusTest, ALlamaOfThePythonPackageIsRead) {
  const ModelFile model = load("valid_llama");
  EXPECT_EQ(model.config.architecture, "llama");
  EXPECT_EQ(model.config.hidden_size, 32);
  EXPECT_EQ(model.config.head_dim, 16);
  EXPECT_EQ(model.config.num_kv_heads, 1);
  EXPECT_EQ(model.config.vocab_size, 8);
  EXPECT_EQ(model.config.eos_token_ids, (std::vector<TokenId>{2, 0}));
  EXPECT_EQ(model.tokenizer.tokens[7], "\u0120");
  EXPECT_EQ(model.tokenizer.merges[1], (std::pair<std::string, std::string>("ab", "b")));
  EXPECT_FALSE(model.tokenizer.add_bos_token);
}

TEST(CorpusTest, OptionalKeysOfThePythonPackageAreRead) {
  const ModelFile model = load("valid_qwen3");
  EXPECT_EQ(model.config.head_dim, 8);
  EXPECT_EQ(model.config.rope_dim, 8);
  EXPECT_EQ(model.config.context_len, 32) << "the sliding window";
  EXPECT_EQ(model.config.rope_scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(model.config.rope_scaling.factor, 2.0f);
  EXPECT_EQ(model.config.rope_freq_factors, std::vector<float>(4, 1.0f));
  EXPECT_EQ(model.config.eos_token_ids, (std::vector<TokenId>{2, 1, 0}));
  ASSERT_TRUE(model.weights);
  for (const TensorInfo& tensor : model.weights->tensors())
    EXPECT_EQ(tensor.file_offset % 64, 0u);
}

TEST(CorpusTest, ASentencePieceModelOfThePythonPackageIsRead) {
  const ModelFile model = load("valid_gemma3");
  EXPECT_EQ(model.tokenizer.model, "llama");
  EXPECT_EQ(model.tokenizer.scores[4], -2.0f);
  EXPECT_TRUE(model.tokenizer.add_bos_token) << "the default of its kind";
  EXPECT_TRUE(model.tokenizer.add_space_prefix);
  EXPECT_TRUE(model.tokenizer.merges.empty());
}

}  // namespace
}  // namespace tvllm::loader
