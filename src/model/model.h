// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "core/model_config.h"
#include "loader/weight_source.h"

namespace tvllm::model {

// Sizes of the activations, settled at load: a step never allocates.
struct ModelLimits {
  std::int32_t max_num_tokens = 512;  // of one forward pass: the token budget
  std::int32_t max_logit_rows = 64;   // of one compute_logits: bounds the logits buffer
};

// Told after each layer that was loaded: layers done, layers in all.
using LoadProgress = std::function<void(std::int32_t, std::int32_t)>;

// Groups of layers that share block tables: Llama has one, a model with sliding-window layers
// several. All have as many layers of one shape, so that a block of the cache serves any of them,
// one at a time.
struct KvGroups {
  std::int32_t num_layers = 0;  // of each group
  std::int32_t num_kv_heads = 0;
  std::int32_t head_dim = 0;
  // One a group: positions that its layers see, 0: all. The first is 0.
  std::vector<std::int32_t> windows = {0};
};

// A transformer, written in operations of a backend. Holds its weights and activations. Engine
// thread only.
class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  virtual const KvGroups& kv_groups() const = 0;

  // Runs all layers over the batch: writes K and V of every token into `cache` and leaves the
  // final hidden states in the model. REQUIRES: 1 <= batch.num_tokens() <= max_num_tokens
  virtual void forward(const backend::PagedBatch& batch, backend::KvCache& cache) = 0;

  // logits: [rows.size(), vocab_size], of these token rows of the last forward().
  // REQUIRES: 1 <= rows.size() <= max_logit_rows
  virtual void compute_logits(std::span<const std::int32_t> rows, TensorView logits) = 0;
};

// Builds the model for `config.architecture`; kUnsupported names the known ones otherwise. Missing
// tensors and wrong shapes are errors that name the tensor. `weights` and `backend` outlive it.
Result<std::unique_ptr<Model>> make_model(const ModelConfig& config,
                                          const loader::WeightSource& weights,
                                          backend::Backend& backend, const ModelLimits& limits,
                                          const LoadProgress& on_progress = {});

}  // namespace tvllm::model
