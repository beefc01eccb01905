// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "model/model.h"

namespace tvllm::model {

// Gemma 3, text: norms before and after each half layer, normalized Q and K, a GELU-gated MLP, and
// local layers with a sliding window and a rotation of their own between the global ones.
Result<std::unique_ptr<Model>> make_gemma3(const ModelConfig& config,
                                           const loader::WeightSource& weights,
                                           backend::Backend& backend, const ModelLimits& limits,
                                           const LoadProgress& on_progress);

}  // namespace tvllm::model
