// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/model_config.h"

namespace tvllm::model {

// The rope_dim / 2 angular frequencies, theta^(-2i / rope_dim), with the model's scaling applied:
// linear (all divided by the factor), Llama 3's (long wavelengths divided, a smooth step between;
// https://github.com/meta-llama/llama-models, apply_scaling) and per-frequency factors from the
// file.
std::vector<float> rope_inv_freqs(const ModelConfig& config);

// Those of local layers: their own theta, nothing applied.
std::vector<float> local_rope_inv_freqs(const ModelConfig& config);

}  // namespace tvllm::model
