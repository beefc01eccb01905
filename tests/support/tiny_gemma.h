// SPDX-License-Identifier: Apache-2.0
// A Gemma 3 of about 200 KB with random weights, as tests/support/tiny_llama.h has a llama, whose
// vocabulary it takes.
//
// 7 layers, every third of them global, the others with a window of 24: a group of two global
// layers and three groups of local ones, the last with one layer. Hidden size 64, 4 heads of 32, 1
// KV head, MLP 96.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/tiny_llama.h"

namespace tvllm::testing {

inline constexpr std::int32_t kTinyGemmaWindow = 24;

inline GgufBuilder tiny_gemma(std::uint32_t seed) {
  namespace internal = tiny_llama_internal;
  constexpr std::uint32_t kNumLayers = 7;
  constexpr std::uint64_t kHidden = 64;
  constexpr std::uint64_t kMlp = 96;
  constexpr std::uint64_t kHeadDim = 32;
  constexpr std::uint64_t kQRows = 4 * kHeadDim;
  internal::RandomWeights random(seed);
  GgufBuilder file;
  file.str("general.architecture", "gemma3")
      .str("general.name", "Tiny random Gemma")
      .u32("gemma3.block_count", kNumLayers)
      .u32("gemma3.context_length", 2048)
      .u32("gemma3.embedding_length", kHidden)
      .u32("gemma3.feed_forward_length", kMlp)
      .u32("gemma3.attention.head_count", 4)
      .u32("gemma3.attention.head_count_kv", 1)
      .u32("gemma3.attention.key_length", kHeadDim)
      .u32("gemma3.attention.value_length", kHeadDim)
      .u32("gemma3.attention.sliding_window", kTinyGemmaWindow)
      .u32("gemma3.attention.sliding_window_pattern", 3)
      .f32("gemma3.attention.layer_norm_rms_epsilon", 1e-6f)
      .f32("gemma3.rope.freq_base", 1000000.0f);
  internal::add_tokenizer(file);

  const auto add_norm = [&](const std::string& name, std::uint64_t length) {
    file.tensor({.name = name, .shape = {length}, .data = random.norm(length)});
  };
  const auto add_matrix = [&](const std::string& name, std::uint64_t rows, std::uint64_t cols) {
    file.tensor({.name = name,
                 .type = kGgmlQ4_1,
                 .shape = {rows, cols},
                 .data = random.q4_1(rows * cols, 0.3f)});
  };
  const std::uint64_t num_tokens = kTinyLlamaFirstByteToken + 256 + internal::kMerges.size();
  file.tensor({.name = "token_embd.weight",
               .type = kGgmlQ8_0,
               .shape = {num_tokens, kHidden},
               .data = random.q8_0(num_tokens * kHidden, 0.5f)});
  for (std::uint32_t i = 0; i < kNumLayers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    for (const char* norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
      add_norm(prefix + norm + ".weight", kHidden);
    add_norm(prefix + "attn_q_norm.weight", kHeadDim);
    add_norm(prefix + "attn_k_norm.weight", kHeadDim);
    add_matrix(prefix + "attn_q.weight", kQRows, kHidden);
    add_matrix(prefix + "attn_k.weight", kHeadDim, kHidden);
    add_matrix(prefix + "attn_v.weight", kHeadDim, kHidden);
    add_matrix(prefix + "attn_output.weight", kHidden, kQRows);
    add_matrix(prefix + "ffn_gate.weight", kMlp, kHidden);
    add_matrix(prefix + "ffn_up.weight", kMlp, kHidden);
    add_matrix(prefix + "ffn_down.weight", kHidden, kMlp);
  }
  add_norm("output_norm.weight", kHidden);
  return file;
}

}  // namespace tvllm::testing
