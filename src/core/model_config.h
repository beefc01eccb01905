// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace tvllm {

// Which two elements of a head a rotation pairs.
enum class RopeStyle {
  kInterleaved,  // (0,1), (2,3), ...: Llama-family GGUF files, whose Q and K rows are permuted for
                 // it
  kHalves,       // (0,d/2), (1,d/2+1), ...: GPT-NeoX order, Qwen and Gemma
};

// Llama 3's frequency-dependent scaling and linear scaling of RoPE; factor 1 means none.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3 };
  Kind kind = Kind::kNone;
  float factor = 1.0f;
  float low_freq_factor = 1.0f;
  float high_freq_factor = 4.0f;
  std::int32_t original_context_len = 8192;
};

// The shape of a model, as the loader read and checked it. A value; immutable after loading.
struct ModelConfig {
  std::string architecture;  // "llama", "qwen2", ...: key of the model registry
  std::string name;          // human name from the file, may be empty

  std::int32_t num_layers = 0;
  std::int32_t hidden_size = 0;
  std::int32_t intermediate_size = 0;
  std::int32_t num_heads = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t vocab_size = 0;   // rows of the embedding: logits width
  std::int32_t context_len = 0;  // positions the model was trained for

  float rms_norm_eps = 1e-5f;
  float rope_theta = 10000.0f;
  std::int32_t rope_dim = 0;  // leading elements of a head that rotate
  RopeStyle rope_style = RopeStyle::kInterleaved;
  RopeScaling rope_scaling;
  // Divisors of each frequency (Llama 3 files carry them as a tensor); empty means all 1.
  std::vector<float> rope_freq_factors;

  float query_scale = 0.0f;  // of Q K^T, usually 1 / sqrt(head_dim)

  // Models with local layers, which attend to the last so many positions, and a global one behind
  // every few of them.
  std::int32_t sliding_window = 0;         // of a local layer, its own position included; 0: none
  std::int32_t global_layer_interval = 0;  // layers i with (i + 1) % interval == 0 are global
  float local_rope_theta = 0.0f;           // local layers rotate by it, without scaling
  bool is_local_layer(std::int32_t layer) const {
    return sliding_window > 0 && (layer + 1) % global_layer_interval != 0;
  }

  // Ids that end a generation: the union of what the file names (eos, eot, eom).
  std::vector<TokenId> eos_token_ids;
};

}  // namespace tvllm
