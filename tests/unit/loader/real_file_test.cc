// SPDX-License-Identifier: Apache-2.0
// The SmolLM2 file, compared with what the Python package `gguf` reads in it
// (tools/dump_gguf_reference.py), cut, re-packed and timed.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/strings.h"
#include "loader/gguf_limits.h"
#include "loader/inspect.h"
#include "loader/load_model_file.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

class Adler32 {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      a_ += static_cast<unsigned char>(c);
      b_ += a_;
      if (++pending_ == 3000) reduce();  // 3000 * 255 * 3001 / 2 stays inside 32 bits
    }
  }
  std::string digest() {
    reduce();
    char out[9];
    std::snprintf(out, sizeof(out), "%08x", b_ << 16 | a_);
    return out;
  }

 private:
  void reduce() {
    a_ %= 65521;
    b_ %= 65521;
    pending_ = 0;
  }
  std::uint32_t a_ = 1;
  std::uint32_t b_ = 0;
  int pending_ = 0;
};

std::string adler32(std::string_view text) {
  Adler32 sum;
  sum.add(text);
  return sum.digest();
}

// Of the bytes of numbers, of strings joined by line feeds.
std::string adler32_of_elements(const GgufValue& value) {
  if (value.element_type != GgufType::kString) return adler32(value.string());
  Adler32 sum;
  bool is_first = true;
  for (const std::string_view element : value.strings()) {
    if (!is_first) sum.add("\n");
    is_first = false;
    sum.add(element);
  }
  return sum.digest();
}

std::string_view bytes_of(const TensorInfo& tensor) {
  return {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()};
}

// A file of models/, skipped where it is not there.
class RealFileTest : public ::testing::Test {
 protected:
  explicit RealFileTest(const std::string& name = "SmolLM2-135M-Instruct.Q4_1.gguf")
      : path_(std::string(TVLLM_MODELS) + "/" + name) {}

  void SetUp() override {
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << "not there: " << path_;
    Result<GgufFile> file = GgufFile::open(path_);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(std::move(*file));
  }

  const std::string path_;
  std::optional<GgufFile> file_;
};

class RealGemmaFileTest : public RealFileTest {
 protected:
  RealGemmaFileTest() : RealFileTest("gemma-3-270m-q4_k_m.gguf") {}
};

void expect_entry(const GgufFile& file, const std::vector<std::string_view>& cells) {
  const GgufValue* value = file.find(cells[1]);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(gguf_type_name(value->type), cells[2]);
  if (value->type == GgufType::kArray) {
    EXPECT_EQ(gguf_type_name(value->element_type), cells[3]);
    EXPECT_EQ(std::to_string(value->count), cells[4]);
    EXPECT_EQ(adler32_of_elements(*value), cells[5]);
  } else if (value->type == GgufType::kString && cells.size() == 5) {
    EXPECT_EQ(std::to_string(value->string().size()), cells[3]);
    EXPECT_EQ(adler32(value->string()), cells[4]);
  } else if (value->type == GgufType::kString) {
    EXPECT_EQ(str_cat("\"", value->string(), "\""), cells[3]);
  } else if (value->type == GgufType::kFloat32) {
    EXPECT_EQ(static_cast<double>(value->scalar<float>()), parse_double(cells[3]));
  } else if (value->type == GgufType::kBool) {
    EXPECT_EQ(*file.require<bool>(cells[1]), cells[3] == "true");
  } else {
    EXPECT_EQ(std::to_string(*file.require<std::uint32_t>(cells[1])), cells[3]);
  }
}

void expect_tensor(const TensorInfo& tensor, const std::vector<std::string_view>& cells) {
  EXPECT_EQ(tensor.name, cells[1]);
  EXPECT_EQ(dtype_info(tensor.dtype).name, cells[2]);
  std::string shape;
  for (const std::int64_t dim : tensor.shape)
    str_append(shape, shape.empty() ? "" : "x", dim);
  EXPECT_EQ(shape, cells[3]);
  EXPECT_EQ(std::to_string(tensor.data.size()), cells[4]);
  EXPECT_EQ(std::to_string(tensor.file_offset), cells[5]);
  EXPECT_EQ(adler32(bytes_of(tensor)), cells[6]);
}

void expect_file(const GgufFile& file, const std::string& reference_name) {
  std::ifstream reference(std::string(TVLLM_TEST_DATA) + "/loader/" + reference_name);
  std::size_t num_entries = 0;
  std::size_t num_tensors = 0;
  for (std::string line; std::getline(reference, line);) {
    SCOPED_TRACE(line);
    const std::vector<std::string_view> cells = split(line, '\t');
    if (cells[0] == "kv") {
      ASSERT_LT(num_entries, file.entries().size());
      EXPECT_EQ(file.entries()[num_entries++].key, cells[1]);
      expect_entry(file, cells);
    } else {
      ASSERT_LT(num_tensors, file.tensors().size());
      expect_tensor(file.tensors()[num_tensors++], cells);
    }
  }
  EXPECT_EQ(num_entries, file.entries().size());
  EXPECT_EQ(num_tensors, file.tensors().size());
}

TEST_F(RealFileTest, IsReadAsThePythonPackageReadsIt) {
  expect_file(*file_, "smollm2_gguf.tsv");
  EXPECT_EQ(file_->entries().size(), 33u);
  EXPECT_EQ(file_->tensors().size(), 272u);
}

TEST_F(RealGemmaFileTest, IsReadAsThePythonPackageReadsIt) {
  expect_file(*file_, "gemma3_gguf.tsv");
  EXPECT_EQ(file_->entries().size(), 33u);
  EXPECT_EQ(file_->tensors().size(), 236u);
}

TEST_F(RealGemmaFileTest, GivesTheModelThatItIs) {
  const Result<ModelFile> model = load_model_file(path_);
  ASSERT_TRUE(model) << model.error().message;
  const ModelConfig& config = model->config;
  EXPECT_EQ(config.architecture, "gemma3");
  EXPECT_EQ(config.num_layers, 18);
  EXPECT_EQ(config.hidden_size, 640);
  EXPECT_EQ(config.intermediate_size, 2048);
  EXPECT_EQ(config.num_heads, 4);
  EXPECT_EQ(config.num_kv_heads, 1);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.rope_dim, 256);
  EXPECT_EQ(config.rope_theta, 1000000.0f);
  EXPECT_EQ(config.rope_style, RopeStyle::kHalves);
  EXPECT_EQ(config.vocab_size, 262144);
  EXPECT_EQ(config.eos_token_ids, (std::vector<TokenId>{1, 106}));  // <eos>, <end_of_turn>
  EXPECT_EQ(model->tokenizer.model, "llama");
  EXPECT_EQ(model->tokenizer.bos_token_id, 2);
  EXPECT_TRUE(model->tokenizer.add_bos_token);
  EXPECT_FALSE(model->tokenizer.add_space_prefix);
  EXPECT_EQ(model->tokenizer.scores.size(), 262144u);
}

TEST_F(RealFileTest, GivesTheModelThatItIs) {
  const Result<ModelFile> model = load_model_file(path_);
  ASSERT_TRUE(model) << model.error().message;
  const ModelConfig& config = model->config;
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.name, "Smollm2 135M 8k Lc100K Mix1 Ep2");
  EXPECT_EQ(config.num_layers, 30);
  EXPECT_EQ(config.hidden_size, 576);
  EXPECT_EQ(config.intermediate_size, 1536);
  EXPECT_EQ(config.num_heads, 9);
  EXPECT_EQ(config.num_kv_heads, 3);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.vocab_size, 49152);
  EXPECT_EQ(config.context_len, 8192);
  EXPECT_EQ(config.rope_theta, 100000.0f);
  EXPECT_EQ(config.rope_dim, 64);
  // <|im_end|>, which the file names, and <|endoftext|>.
  EXPECT_EQ(config.eos_token_ids, (std::vector<TokenId>{2, 0}));

  const TokenizerData& tokenizer = model->tokenizer;
  EXPECT_EQ(tokenizer.model, "gpt2");
  EXPECT_EQ(tokenizer.pre_tokenizer, "smollm");
  ASSERT_EQ(tokenizer.tokens.size(), 49152u);
  EXPECT_EQ(tokenizer.tokens[1], "<|im_start|>");
  EXPECT_EQ(tokenizer.token_types[16], TokenType::kControl);
  EXPECT_EQ(tokenizer.token_types[17], TokenType::kNormal);
  ASSERT_EQ(tokenizer.merges.size(), 48900u);
  EXPECT_EQ(tokenizer.merges[0], (std::pair<std::string, std::string>("\u0120", "t")));
  EXPECT_EQ(tokenizer.merges[4], (std::pair<std::string, std::string>("\u0120", "\u0120")));
  EXPECT_FALSE(tokenizer.add_bos_token);
  EXPECT_TRUE(tokenizer.chat_template.starts_with("{% for message in messages %}"));
}

TEST_F(RealFileTest, IsCalledTruncatedWhereverItIsCut) {
  std::string whole;
  {
    std::ifstream input(path_, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(input), {});
  }
  ASSERT_EQ(whole.size(), 98362432u);
  for (const std::size_t length : {0u, 1u, 4u, 23u, 24u, 100u, 4096u, 1000000u, 1769095u, 1785663u,
                                   1785664u, 50000000u, 98362431u}) {
    const Error error = refusal(std::string_view(whole).substr(0, length));
    expect_refusal(error, {"truncated"});
    if (length >= 1785664) expect_refusal(error, {"data of tensor '"});
  }
}

// The same tensors at other offsets, under another alignment.
TEST_F(RealFileTest, CanBeRepackedWithAnotherAlignment) {
  for (const std::uint32_t alignment : {8u, 64u, 4096u}) {
    GgufBuilder builder;
    builder.alignment(alignment);
    builder.str("general.architecture", "llama");
    for (const TensorInfo& tensor : file_->tensors()) {
      const std::map<DType, std::uint32_t> ids = {
          {DType::kF32, 0}, {DType::kQ4_1, 3}, {DType::kQ8_0, 8}};
      builder.tensor({.name = tensor.name,
                      .type = ids.at(tensor.dtype),
                      .shape = {tensor.shape.begin(), tensor.shape.end()},
                      .data = std::string(bytes_of(tensor))});
    }
    const std::string bytes = builder.build();
    const Result<GgufFile> repacked = parse(bytes);
    ASSERT_TRUE(repacked) << repacked.error().message;
    EXPECT_EQ(repacked->alignment(), alignment);
    for (const TensorInfo& tensor : file_->tensors()) {
      const TensorInfo* again = repacked->find_tensor(tensor.name);
      ASSERT_NE(again, nullptr);
      EXPECT_EQ(again->shape, tensor.shape);
      EXPECT_EQ(again->file_offset % alignment, 0u);
      EXPECT_TRUE(bytes_of(*again) == bytes_of(tensor)) << tensor.name;
    }
  }
}

// 5 ms in a release build, most of it the strings of the vocabulary; the bound is for sanitizer
// builds on a busy machine.
TEST_F(RealFileTest, LoadsInAFractionOfASecond) {
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(load_model_file(path_));
    best = std::min(best, std::chrono::steady_clock::now() - start);
  }
  const double milliseconds = std::chrono::duration<double, std::milli>(best).count();
  RecordProperty("load_ms", fixed(milliseconds, 1));
  std::printf("load_model_file: %.1f ms\n", milliseconds);
  EXPECT_LT(milliseconds, 500.0);
}

TEST_F(RealFileTest, IsDescribedIn100Columns) {
  const std::string text = describe_model_file(*file_);
  EXPECT_THAT(text, ::testing::HasSubstr("49152 strings: \"<|endoftext|>\", ..."));
  EXPECT_THAT(text, ::testing::HasSubstr("  all        272       134,515,008"));
  const std::string body = text.substr(text.find('\n'));  // behind the path
  for (const std::string_view line : split(body, '\n'))
    EXPECT_LE(line.size(), 110u) << line;  // bytes: some characters of the merges have two
}

}  // namespace
}  // namespace tvllm::loader
