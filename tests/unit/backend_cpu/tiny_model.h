// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::testing {

// Two transformer layers with random weights of many types, small enough to run thousands of tokens
// in a debug build. Layers are called as a real model calls them. The same seed gives the same
// weights on every backend.
class TinyModel {
 public:
  struct Options {
    std::int32_t max_tokens = 64;  // of a batch
    std::int32_t num_blocks = 256;
    std::int32_t block_size = 16;
    backend::KvDType kv_dtype = backend::KvDType::kF32;
  };

  static constexpr std::int32_t kVocabSize = 48;

  TinyModel(backend::Backend& backend, const Options& options);

  // Logits of every token, [num_tokens, kVocabSize]; valid until the next call.
  FloatMatrix forward(const backend::PagedBatch& batch);

 private:
  struct Layer {
    std::unique_ptr<backend::Buffer> attention_norm;
    std::unique_ptr<backend::Matrix> qkv;
    std::unique_ptr<backend::Matrix> attention_out;
    std::unique_ptr<backend::Buffer> mlp_norm;
    std::unique_ptr<backend::Matrix> gate_up;
    std::unique_ptr<backend::Matrix> down;
  };

  std::unique_ptr<backend::Matrix> matrix(std::vector<std::pair<DType, std::int64_t>> parts);
  std::unique_ptr<backend::Buffer> norm();

  backend::Backend& backend_;
  std::uint32_t seed_ = 40;
  std::vector<Weights> files_;  // what the matrices point into
  std::vector<Layer> layers_;
  std::unique_ptr<backend::Matrix> embedding_;
  std::unique_ptr<backend::Buffer> final_norm_;
  std::unique_ptr<backend::Buffer> bias_;
  std::unique_ptr<backend::KvCache> cache_;
  std::vector<float> inv_freqs_;
  Tensor residual_, normed_, qkv_, attended_, delta_, gate_up_, gated_, cos_sin_, logits_;
};

}  // namespace tvllm::testing
