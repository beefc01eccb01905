// SPDX-License-Identifier: Apache-2.0
// What an instruction set is: one table of plain functions over plain structs. Kernels run one
// range on one thread; CpuBackend has checked the shapes, owns the memory and cuts the work. A unit
// that is compiled with -m flags includes this header, intrinsics and nothing else of the project.
//
// Every kernel gives a row of its result the same bits whatever the range and the other rows are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tvllm::cpu {

// One matrix of a file, or what `pack` made of it.
struct WeightPart {
  DType dtype = DType::kF32;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  const std::byte* blocks = nullptr;  // rows of blocks, in the mapped file
  const std::byte* packed = nullptr;  // the table's own layout; null when it reads `blocks`
};

// out[t, r] = sum over c of weight[r, c] * x[t, c] + bias[r]
struct MatmulArgs {
  const WeightPart* weight = nullptr;
  std::int64_t num_tokens = 0;
  const float* x = nullptr;  // [num_tokens, num_cols]
  std::int64_t x_stride = 0;
  // The same from `quantize_rows`, in the forms that the parts of the matrix ask for; null if none
  // does.
  const std::byte* quantized = nullptr;
  std::int64_t quantized_stride = 0;  // in bytes
  unsigned quantized_forms = 0;
  const float* bias = nullptr;  // [num_rows], may be null
  float* out = nullptr;         // [num_tokens, num_rows]
  std::int64_t out_stride = 0;
};

// out[t, :] = x[t, :] / rms(x[t, :]) * weight; with `delta`, x[t, :] += delta[t, :] before.
struct NormArgs {
  float* x = nullptr;
  std::int64_t x_stride = 0;
  const float* delta = nullptr;  // may be null: then x is only read
  std::int64_t delta_stride = 0;
  const float* weight = nullptr;
  std::int64_t num_cols = 0;
  float eps = 0.0f;
  float* out = nullptr;  // may be x
  std::int64_t out_stride = 0;
};

// out[t, f] = act(gate_up[t, f]) * gate_up[t, num_cols + f], act being silu or gelu
struct GatedArgs {
  const float* gate_up = nullptr;
  std::int64_t gate_up_stride = 0;
  std::int64_t num_cols = 0;
  float* out = nullptr;
  std::int64_t out_stride = 0;
};

// K and V of one layer. K of (block b, head h) are [block_size, head_dim] elements at
// base + b * block_bytes + h * head_bytes, and its V stand v_offset bytes after.
struct KvLayer {
  std::byte* base = nullptr;
  std::int64_t block_bytes = 0;
  std::int64_t head_bytes = 0;
  std::int64_t v_offset = 0;
  std::int32_t block_size = 0;
  std::int32_t head_dim = 0;
  DType dtype = DType::kF32;  // kF32, kF16 or kBF16
};

// Rotates Q and K of each token in place, and stores K and V into the token's slot.
struct RopeStoreArgs {
  float* qkv = nullptr;  // [num_tokens, (num_heads + 2 * num_kv_heads) * head_dim]
  std::int64_t qkv_stride = 0;
  std::int32_t num_heads = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t rope_dim = 0;       // leading elements of a head that rotate
  bool pairs_halves = false;       // (i, i + rope_dim / 2), else (2 i, 2 i + 1)
  const float* cos_sin = nullptr;  // [num_tokens, rope_dim]: cosines, then sines
  std::int64_t cos_sin_stride = 0;
  const std::int64_t* slots = nullptr;  // [num_tokens]
  KvLayer kv;
};

// Contexts are attended in splits of this many positions, at absolute boundaries, each on its own;
// the results are merged in order. So the bits do not depend on who computed which split. A
// multiple of every block size.
inline constexpr std::int32_t kSplitLen = 256;

// A few consecutive tokens of one sequence, the query heads of one KV head, and one split.
//
//   token t sees the positions from max(first_visible + t, 0)
//                         to clamp(num_visible + t, 0, num_positions) - 1 of the split
//
// Blocks before the first one that token 0 sees are not read. A row (token, head) of `partials` is:
// the largest score, the sum of exp(score - largest), and the head_dim sums of exp(score - largest)
// * V. Rows that see nothing are left alone.
struct AttentionSplit {
  const float* q = nullptr;  // head h of token t at t * q_stride + h * head_dim
  std::int64_t q_stride = 0;
  std::int32_t num_tokens = 0;
  std::int32_t num_heads = 0;  // of this KV head
  std::int32_t head_dim = 0;
  float scale = 0.0f;
  const std::byte* const* k_blocks = nullptr;  // in order of position, [block_size, head_dim] each
  std::int64_t v_offset = 0;                   // bytes from a block's K to its V
  std::int32_t block_size = 0;
  DType dtype = DType::kF32;
  std::int32_t first_visible = 0;  // negative when a sliding window begins in an earlier split, or
                                   // there is none
  std::int32_t num_visible = 0;
  std::int32_t num_positions = 0;
  float* partials = nullptr;  // [num_tokens * num_heads, head_dim + 2]
};

// gelu(x) = x * sigmoid(kGeluLinear x + kGeluCubic x^3): the tanh form, since
// (1 + tanh(u)) / 2 = sigmoid(2 u).
inline constexpr float kGeluLinear = 1.5957691f;  // 2 sqrt(2 / pi)
inline constexpr float kGeluCubic = 0.07135482f;  // 0.044715 times that

struct KernelTable {
  const char* name;

  // --- weights, at load ---
  std::int64_t row_grain;  // workers get whole multiples of this many rows
  // Bytes of the table's own layout; 0 when blocks are read where they are.
  std::size_t (*packed_bytes)(const WeightPart& weight);
  void (*pack)(const WeightPart& weight, std::byte* packed, std::int64_t row_begin,
               std::int64_t row_end);

  // --- operations ---
  // One row as floats.
  void (*load_row)(const WeightPart& weight, std::int64_t row, float* out);

  // The form of quantized activations, a bit of the table's own, that `matmul` reads for weights of
  // this type; 0 when it reads floats. A row holds all `forms` that are asked for.
  unsigned (*quantized_form)(DType dtype);
  std::size_t (*quantized_row_bytes)(std::int64_t num_cols, unsigned forms);
  void (*quantize_rows)(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                        std::int64_t num_cols, unsigned forms, std::byte* out);
  std::size_t (*matmul_scratch_bytes)(std::int64_t num_cols);
  void (*matmul)(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                 std::byte* scratch);

  void (*rms_norm)(const NormArgs& args, std::int64_t token_begin, std::int64_t token_end);
  void (*silu_and_mul)(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end);
  void (*gelu_and_mul)(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end);
  void (*rope_and_store)(const RopeStoreArgs& args, std::int64_t token_begin,
                         std::int64_t token_end);

  std::size_t (*attention_scratch_bytes)(std::int64_t num_rows, std::int64_t head_dim,
                                         std::int64_t block_size);
  void (*attend_split)(const AttentionSplit& args, std::byte* scratch);
};

}  // namespace tvllm::cpu
