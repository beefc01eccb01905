// SPDX-License-Identifier: Apache-2.0
#include "loader/load_model_file.h"

#include "loader/gguf_weights.h"
#include "tests/support/temp_path.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

class LoadModelFileTest : public ::testing::Test {
 protected:
  std::string write(std::string_view bytes) const {
    tvllm::testing::write_file(path_, bytes);
    return path_;
  }

  const tvllm::testing::TempPath scratch_{"load_model_file_test.gguf"};
  const std::string& path_ = scratch_.str();
};

TEST_F(LoadModelFileTest, GivesConfigTokenizerAndWeights) {
  const Result<ModelFile> model = load_model_file(write(tiny_llama(7).build()));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config.num_layers, 2);
  EXPECT_EQ(model->tokenizer.tokens.size(), 300u);
  EXPECT_EQ(model->tokenizer.merges.size(), 41u);
  EXPECT_EQ(model->weights->path(), path_);
  EXPECT_EQ(model->weights->tensors().size(), 20u);
  const TensorInfo* down = model->weights->find("blk.1.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->dtype, DType::kQ4_1);
  EXPECT_EQ(down->shape, (std::vector<std::int64_t>{64, 128}));
  EXPECT_EQ(model->weights->find("output.weight"), nullptr);
}

TEST_F(LoadModelFileTest, WeightsOutliveTheRestOfTheModel) {
  const std::string bytes = tiny_llama(7).build();
  std::unique_ptr<WeightSource> weights;
  {
    Result<ModelFile> model = load_model_file(write(bytes));
    ASSERT_TRUE(model);
    weights = std::move(model->weights);
  }
  for (const TensorInfo& tensor : weights->tensors()) {
    const std::string_view data(reinterpret_cast<const char*>(tensor.data.data()),
                                tensor.data.size());
    EXPECT_EQ(data, std::string_view(bytes).substr(tensor.file_offset, tensor.data.size()));
  }
}

TEST_F(LoadModelFileTest, TensorsAreAlignedAsTheFileSays) {
  for (const std::uint32_t alignment : {8u, 64u, 4096u}) {
    const Result<ModelFile> model =
        load_model_file(write(tiny_llama(7).alignment(alignment).build()));
    ASSERT_TRUE(model) << model.error().message;
    for (const TensorInfo& tensor : model->weights->tensors())
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % alignment, 0u);
  }
}

TEST_F(LoadModelFileTest, TheSameSeedGivesTheSameModel) {
  EXPECT_EQ(tiny_llama(3).build(), tiny_llama(3).build());
  EXPECT_NE(tiny_llama(3).build(), tiny_llama(4).build());
}

TEST_F(LoadModelFileTest, ErrorsNameTheFile) {
  const Result<ModelFile> absent = load_model_file("/nowhere/model.gguf");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(absent.error().message, ::testing::HasSubstr("'/nowhere/model.gguf'"));
  const Result<ModelFile> spoilt =
      load_model_file(write(tiny_llama(1).erase("tokenizer.ggml.model").build()));
  ASSERT_FALSE(spoilt);
  EXPECT_THAT(spoilt.error().message, ::testing::HasSubstr("'" + path_ + "'"));
}

TEST_F(LoadModelFileTest, AModelCutInItsTensorsIsRefusedWithTheTensorsName) {
  std::string bytes = tiny_llama(1).build();
  bytes.resize(bytes.size() - 1);
  const Result<ModelFile> model = load_model_file(write(bytes));
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, ::testing::HasSubstr("data of tensor 'output_norm.weight'"));
  EXPECT_THAT(model.error().message, ::testing::HasSubstr("truncated"));
}

}  // namespace
}  // namespace tvllm::loader
