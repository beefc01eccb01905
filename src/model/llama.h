// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/model.h"

namespace tvllm::model {

// Llama, Mistral, SmolLM2: pre-norm decoder with RoPE, grouped-query attention and a gated MLP.
Result<std::unique_ptr<Model>> make_llama(const ModelConfig& config,
                                          const loader::WeightSource& weights,
                                          backend::Backend& backend, const ModelLimits& limits,
                                          const LoadProgress& on_progress);

}  // namespace tvllm::model
