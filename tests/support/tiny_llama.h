// SPDX-License-Identifier: Apache-2.0
// A whole llama model of about 100 KB with random weights, for tests that need a model that loads
// and runs and not one that makes sense. Header-only; needs the rooms base and tensor.
//
//   write_tiny_llama(path, 1);   // the same seed gives the same bytes on every machine
//
// 2 layers, hidden size 64, 4 heads of 16, 2 KV heads, MLP 128, 300 tokens, context 2048; weights
// Q4_1, embedding Q8_0 and tied, norms F32: the formats of the SmolLM2 file that the engine is
// measured with. The tokenizer is byte-level BPE with SmolLM2's pattern ("smollm"): ids 0 to 2 are
// <|endoftext|>, <|im_start|> and <|im_end|>, id 3 + b is byte b, the rest are merges, so that any
// text can be encoded. The chat template is ChatML's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "base/utf8.h"
#include "tensor/half.h"
#include "tests/support/gguf_builder.h"

namespace tvllm::testing {

struct TinyLlamaShape {
  std::uint32_t num_layers = 2;
  std::uint32_t hidden_size = 64;
  std::uint32_t intermediate_size = 128;
  std::uint32_t num_heads = 4;
  std::uint32_t num_kv_heads = 2;
  std::uint32_t context_len = 2048;
};

inline constexpr std::int32_t kTinyLlamaFirstByteToken = 3;
inline constexpr std::string_view kTinyLlamaChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\n' }}{% endif %}";

namespace tiny_llama_internal {

// GPT-2's byte alphabet: bytes that print stand for themselves, the others for U+0100 and on.
inline std::string alphabet_char(int byte) {
  const auto prints = [](int b) {
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
  };
  char32_t code_point = static_cast<char32_t>(byte);
  if (!prints(byte)) {
    code_point = 0x100;
    for (int b = 0; b < byte; ++b)
      code_point += prints(b) ? 0 : 1;
  }
  std::string out;
  append_utf8(out, code_point);
  return out;
}

inline std::string in_alphabet(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += alphabet_char(static_cast<unsigned char>(c));
  return out;
}

// Each part is a byte or the result of an earlier merge.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 41> kMerges = {{
    {" ", "t"},   {" ", "a"},    {"i", "n"},   {"h", "e"},  {"r", "e"},     {"o", "n"},
    {"e", "r"},   {" t", "he"},  {"a", "t"},   {" ", "s"},  {"o", "r"},     {"e", "n"},
    {" ", "c"},   {"i", "s"},    {"i", "t"},   {"e", "s"},  {"n", "d"},     {" ", "w"},
    {"a", "l"},   {" ", "o"},    {"l", "l"},   {" ", "b"},  {"e", "d"},     {" ", "p"},
    {" ", "f"},   {"in", "g"},   {" ", "m"},   {"a", "n"},  {" a", "nd"},   {" o", "f"},
    {"l", "e"},   {" ", "i"},    {" ", "d"},   {" t", "o"}, {"o", "u"},     {" i", "n"},
    {"he", "ll"}, {"hell", "o"}, {" w", "or"}, {"l", "d"},  {" wor", "ld"},
}};

class RandomWeights {
 public:
  explicit RandomWeights(std::uint32_t seed) : seed_(seed) {}

  // From -1 to 1.
  float uniform() { return 2.0f * uniform_float(next()) - 1.0f; }

  // F32, near 1.
  std::string norm(std::uint64_t num_elements) {
    ByteWriter out;
    for (std::uint64_t i = 0; i < num_elements; ++i)
      out.number(1.0f + 0.1f * uniform());
    return out.bytes();
  }

  // Blocks of 32: f16 scale, f16 minimum, 32 nibbles. Elements within +-`limit`.
  std::string q4_1(std::uint64_t num_elements, float limit) {
    ByteWriter out;
    for (std::uint64_t block = 0; block < num_elements / 32; ++block) {
      const float spread = limit * (0.75f + 0.25f * uniform());
      out.number(f32_to_f16(2.0f * spread / 15.0f)).number(f32_to_f16(-spread));
      for (int word = 0; word < 4; ++word)
        out.u32(next());
    }
    return out.bytes();
  }

  // Blocks of 32: f16 scale, 32 bytes. Elements within +-`limit`.
  std::string q8_0(std::uint64_t num_elements, float limit) {
    ByteWriter out;
    for (std::uint64_t block = 0; block < num_elements / 32; ++block) {
      out.number(f32_to_f16(limit * (0.75f + 0.25f * uniform()) / 128.0f));
      for (int word = 0; word < 8; ++word)
        out.u32(next());
    }
    return out.bytes();
  }

 private:
  std::uint32_t next() {
    if (used_ == words_.size()) {
      words_ = philox4x32({counter_++, 0, 0, 0}, {seed_, 0x11a3a});
      used_ = 0;
    }
    return words_[used_++];
  }

  const std::uint32_t seed_;
  std::uint32_t counter_ = 0;
  std::array<std::uint32_t, 4> words_{};
  std::size_t used_ = 4;
};

inline void add_tokenizer(GgufBuilder& file) {
  std::vector<std::string> tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  std::vector<std::int32_t> types(tokens.size(), 3);
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(alphabet_char(byte));
  std::vector<std::string> merges;
  for (const auto& [left, right] : kMerges) {
    tokens.push_back(in_alphabet(left) + in_alphabet(right));
    merges.push_back(in_alphabet(left) + " " + in_alphabet(right));
  }
  types.resize(tokens.size(), 1);
  file.str("tokenizer.ggml.model", "gpt2")
      .str("tokenizer.ggml.pre", "smollm")
      .strings("tokenizer.ggml.tokens", tokens)
      .i32s("tokenizer.ggml.token_type", types)
      .strings("tokenizer.ggml.merges", merges)
      .u32("tokenizer.ggml.bos_token_id", 1)
      .u32("tokenizer.ggml.eos_token_id", 2)
      .u32("tokenizer.ggml.unknown_token_id", 0)
      .u32("tokenizer.ggml.padding_token_id", 2)
      .boolean("tokenizer.ggml.add_bos_token", false)
      .boolean("tokenizer.ggml.add_space_prefix", false)
      .str("tokenizer.chat_template", kTinyLlamaChatTemplate);
}

}  // namespace tiny_llama_internal

// The model as a builder, so that a test can change a part before it calls build().
inline GgufBuilder tiny_llama(std::uint32_t seed, const TinyLlamaShape& shape = {}) {
  namespace internal = tiny_llama_internal;
  internal::RandomWeights random(seed);
  const std::uint64_t hidden = shape.hidden_size;
  const std::uint64_t kv_rows = hidden / shape.num_heads * shape.num_kv_heads;
  GgufBuilder file;
  file.str("general.architecture", "llama")
      .str("general.name", "Tiny random llama")
      .u32("llama.block_count", shape.num_layers)
      .u32("llama.context_length", shape.context_len)
      .u32("llama.embedding_length", shape.hidden_size)
      .u32("llama.feed_forward_length", shape.intermediate_size)
      .u32("llama.attention.head_count", shape.num_heads)
      .u32("llama.attention.head_count_kv", shape.num_kv_heads)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .f32("llama.rope.freq_base", 10000.0f)
      .u32("llama.rope.dimension_count", shape.hidden_size / shape.num_heads);
  internal::add_tokenizer(file);

  const auto add_norm = [&](const std::string& name) {
    file.tensor({.name = name, .shape = {hidden}, .data = random.norm(hidden)});
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
               .shape = {num_tokens, hidden},
               .data = random.q8_0(num_tokens * hidden, 0.5f)});
  for (std::uint32_t i = 0; i < shape.num_layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    add_norm(prefix + "attn_norm.weight");
    add_matrix(prefix + "attn_q.weight", hidden, hidden);
    add_matrix(prefix + "attn_k.weight", kv_rows, hidden);
    add_matrix(prefix + "attn_v.weight", kv_rows, hidden);
    add_matrix(prefix + "attn_output.weight", hidden, hidden);
    add_norm(prefix + "ffn_norm.weight");
    add_matrix(prefix + "ffn_gate.weight", shape.intermediate_size, hidden);
    add_matrix(prefix + "ffn_up.weight", shape.intermediate_size, hidden);
    add_matrix(prefix + "ffn_down.weight", hidden, shape.intermediate_size);
  }
  add_norm("output_norm.weight");
  return file;
}

inline void write_tiny_llama(const std::string& path, std::uint32_t seed) {
  write_file(path, tiny_llama(seed).build());
}

}  // namespace tvllm::testing
