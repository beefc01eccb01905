// SPDX-License-Identifier: Apache-2.0
// What a Gemma 3 file may lack, and how its layers are grouped. That the numbers are right is shown
// against an fp32 reference of the real model (tests/e2e/test_reference.py), that freed blocks are
// not missed in tests/unit/executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "loader/load_model_file.h"
#include "model/model.h"
#include "tests/support/temp_path.h"
#include "tests/support/tiny_gemma.h"

namespace tvllm::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Gemma3Test : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Model>> make(const testing::GgufBuilder& file) {
    testing::write_file(path_.str(), file.build());
    file_ = *loader::load_model_file(path_.str());
    return make_model(file_.config, *file_.weights, *backend_, {}, {});
  }
  std::string error(const testing::GgufBuilder& file) {
    const Result<std::unique_ptr<Model>> model = make(file);
    return model.has_value() ? "no error" : model.error().message;
  }

  const testing::TempPath path_{"gemma3_test.gguf"};
  loader::ModelFile file_;
  ThreadPool pool_{1};
  std::unique_ptr<backend::Backend> backend_ =
      *cpu::make_cpu_backend({.isa = cpu::CpuIsa::kReference}, pool_);
};

TEST_F(Gemma3Test, LocalLayersStandInGroupsWithTheWindow) {
  const Result<std::unique_ptr<Model>> model = make(testing::tiny_gemma(1));
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const KvGroups& groups = (*model)->kv_groups();
  EXPECT_THAT(groups.windows, ElementsAre(0, 24, 24, 24));
  EXPECT_EQ(groups.num_layers, 2);
  EXPECT_EQ(groups.num_kv_heads, 1);
  EXPECT_EQ(groups.head_dim, 32);
}

TEST_F(Gemma3Test, EveryTensorOfALayerIsNeeded) {
  for (const char* name : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm",
                           "attn_q_norm", "attn_k_norm", "attn_q", "attn_k", "attn_v",
                           "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    const std::string tensor = std::string("blk.6.") + name + ".weight";
    EXPECT_THAT(error(testing::tiny_gemma(1).erase_tensor(tensor)),
                AllOf(HasSubstr("'" + tensor + "'"), HasSubstr("is missing")));
  }
  EXPECT_THAT(error(testing::tiny_gemma(1).erase_tensor("output_norm.weight")),
              HasSubstr("'output_norm.weight' is missing"));
}

TEST_F(Gemma3Test, RefusesTensorsThatItWouldPassOver) {
  testing::GgufBuilder file = testing::tiny_gemma(1);
  file.tensor({.name = "output.weight", .shape = {64}, .data = std::string(256, '\0')});
  EXPECT_THAT(error(file), HasSubstr("nothing that this architecture reads"));
}

TEST_F(Gemma3Test, RefusesANormOfAnotherLength) {
  testing::GgufBuilder file = testing::tiny_gemma(1);
  file.at("blk.0.attn_q_norm.weight") = {
      .name = "blk.0.attn_q_norm.weight", .shape = {64}, .data = std::string(256, '\0')};
  EXPECT_THAT(error(file), HasSubstr("'blk.0.attn_q_norm.weight'"));
}

}  // namespace
}  // namespace tvllm::model
