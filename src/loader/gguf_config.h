// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "core/model_config.h"
#include "core/tokenizer_data.h"
#include "loader/gguf.h"

namespace tvllm::loader {

// The shape of the model in `file`, from its metadata, its embedding's shape and the tensor
// `rope_freqs.weight` where it has one. Architectures: llama (Mistral's files say "llama" too),
// qwen2, qwen3, gemma3; another one is kUnsupported and named.
//
// Checked: every value in its range, head counts dividing each other, head size against the hidden
// size, the vocabulary against the embedding. What would change the arithmetic and is not
// implemented (mixtures of experts, YaRN, soft-capped logits, differing layers) is refused by its
// key, never ignored. The ids that end a generation are left to add_vocabulary.
Result<ModelConfig> read_model_config(const GgufFile& file);

// Checks that the model has a logit for each token and no other, and sets the ids that end a
// generation.
Status add_vocabulary(const GgufFile& file, const TokenizerData& tokenizer, ModelConfig& config);

}  // namespace tvllm::loader
