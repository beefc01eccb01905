// SPDX-License-Identifier: Apache-2.0
// What a model file may lack. That the numbers are right is shown against an fp32 reference of the
// real model (tests/e2e/test_reference.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "loader/load_model_file.h"
#include "model/model.h"
#include "tests/support/temp_path.h"
#include "tests/support/tiny_llama.h"

namespace tvllm::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// The tensors of another source, some changed.
class EditedWeights final : public loader::WeightSource {
 public:
  explicit EditedWeights(const loader::WeightSource& source)
      : path_(source.path()), tensors_(source.tensors().begin(), source.tensors().end()) {}

  void remove(std::string_view name) {
    std::erase_if(tensors_, [&](const loader::TensorInfo& t) { return t.name == name; });
  }
  void add(loader::TensorInfo tensor) { tensors_.push_back(std::move(tensor)); }
  loader::TensorInfo& edit(std::string_view name) {
    for (loader::TensorInfo& tensor : tensors_) {
      if (tensor.name == name) return tensor;
    }
    ADD_FAILURE() << "no tensor " << name;
    return tensors_.front();
  }

  const std::string& path() const override { return path_; }
  std::span<const loader::TensorInfo> tensors() const override { return tensors_; }
  const loader::TensorInfo* find(std::string_view name) const override {
    for (const loader::TensorInfo& tensor : tensors_) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
  void dont_need(const loader::TensorInfo&) const override {}

 private:
  std::string path_;
  std::vector<loader::TensorInfo> tensors_;
};

class LlamaTest : public ::testing::Test {
 protected:
  static loader::ModelFile load() {
    const testing::TempPath path("llama_test.gguf");
    testing::write_tiny_llama(path.str(), 1);
    return *loader::load_model_file(path.str());
  }

  Result<std::unique_ptr<Model>> make(const LoadProgress& on_progress = {}) {
    return make_model(file_.config, weights_, *backend_, {}, on_progress);
  }
  std::string error() {
    const Result<std::unique_ptr<Model>> model = make();
    return model.has_value() ? "no error" : model.error().message;
  }

  loader::ModelFile file_ = load();
  EditedWeights weights_{*file_.weights};
  ThreadPool pool_{1};
  std::unique_ptr<backend::Backend> backend_ =
      *cpu::make_cpu_backend({.isa = cpu::CpuIsa::kReference}, pool_);
};

TEST_F(LlamaTest, TellsItsKvGroupAndItsProgress) {
  std::vector<std::pair<int, int>> progress;
  const Result<std::unique_ptr<Model>> model =
      make([&](std::int32_t done, std::int32_t total) { progress.emplace_back(done, total); });
  ASSERT_TRUE(model.has_value());
  const KvGroups& groups = (*model)->kv_groups();
  EXPECT_THAT(groups.windows, ElementsAre(0));
  EXPECT_EQ(groups.num_layers, 2);
  EXPECT_EQ(groups.num_kv_heads, 2);
  EXPECT_EQ(groups.head_dim, 16);
  EXPECT_THAT(progress, ElementsAre(Pair(1, 2), Pair(2, 2)));
}

TEST_F(LlamaTest, NamesAMissingTensorAndTheShapeItShouldHave) {
  weights_.remove("blk.1.attn_k.weight");
  EXPECT_THAT(error(), AllOf(HasSubstr("'blk.1.attn_k.weight' is missing"), HasSubstr("[32, 64]")));
}

TEST_F(LlamaTest, RefusesAMatrixOfAnotherShape) {
  weights_.edit("blk.0.ffn_down.weight").shape = {128, 64};
  EXPECT_THAT(error(), AllOf(HasSubstr("'blk.0.ffn_down.weight'"),
                             HasSubstr("expected shape [64, 128]"), HasSubstr("found [128, 64]")));
}

TEST_F(LlamaTest, RefusesANormOfAnotherLength) {
  weights_.edit("output_norm.weight").shape = {63};
  EXPECT_THAT(error(), HasSubstr("'output_norm.weight'"));
}

TEST_F(LlamaTest, AnOutputMatrixOfItsOwnIsCheckedToo) {
  loader::TensorInfo output = weights_.edit("token_embd.weight");
  output.name = "output.weight";
  weights_.add(output);
  EXPECT_EQ(error(), "no error");
  weights_.edit("output.weight").shape = {10, 64};
  EXPECT_THAT(error(), HasSubstr("'output.weight'"));
}

TEST_F(LlamaTest, RefusesTensorsThatItWouldPassOver) {
  for (const char* name : {"blk.0.attn_q.bias", "blk.2.attn_q.weight", "blk.x.attn_q.weight",
                           "blk.0", "output.bias"}) {
    loader::TensorInfo tensor = weights_.edit("output_norm.weight");
    tensor.name = name;
    weights_.add(tensor);
    EXPECT_THAT(error(), AllOf(HasSubstr(name), HasSubstr("nothing that this architecture reads")));
    weights_.remove(name);
  }
}

TEST_F(LlamaTest, AnUnknownArchitectureIsRefusedByName) {
  file_.config.architecture = "mamba";
  EXPECT_THAT(error(), AllOf(HasSubstr("'mamba'"), HasSubstr("known are: llama, gemma3")));
}

}  // namespace
}  // namespace tvllm::model
