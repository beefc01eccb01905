// SPDX-License-Identifier: Apache-2.0
// The operations of backend/backend.h at many shapes. Every instruction set and device runs the
// same cases, against the loops of tests/support/ops/naive_ops.h; benchmarks run the large ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model_config.h"
#include "tensor/dtype.h"

namespace tvllm::testing {

enum class OpKind {
  kEmbed,
  kRmsNorm,
  kAddRmsNorm,
  kMatmul,
  kRopeTables,
  kRopeAndWriteKv,
  kAttention,
  kSiluAndMul,
  kGeluAndMul,
  kGatherRows,
};

std::string_view name_of(OpKind op);

// Rows of a stacked matrix that share a type.
struct MatrixPart {
  DType dtype = DType::kF32;
  std::int64_t num_rows = 0;
};

struct SequenceLens {
  std::int32_t context_len = 0;
  std::int32_t num_new = 0;
};

struct OpCase {
  OpKind op = OpKind::kMatmul;
  std::int64_t num_tokens = 0;
  std::int64_t num_cols = 0;
  // Embedding and matrix product.
  std::vector<MatrixPart> parts;
  bool has_bias = false;
  // Rotation and attention.
  std::int32_t num_heads = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t rope_dim = 0;  // 0: attention over vectors that do not rotate
  RopeStyle rope_style = RopeStyle::kInterleaved;
  std::int32_t block_size = 16;
  std::int32_t window = 0;  // positions that a token attends to at most; 0: all
  DType kv_dtype = DType::kF32;
  std::vector<SequenceLens> sequences;

  // Bounds of the normalized mean squared error: in fp32, and where the instruction set quantizes
  // activations.
  double tolerance = 1e-11;
  double quantized_tolerance = 1e-11;

  // What must be moved and computed at least, for benchmarks.
  double bytes = 0.0;
  double flops = 0.0;
};

// "matmul Q4_1 5 x 256 -> 7": unique among op_cases().
std::string name_of(const OpCase& op_case);

std::vector<OpCase> op_cases();

// Attention of so many sequences, as in op_cases(): for benchmarks of contexts that are too long
// for the loops that tests compare with.
OpCase attention_case(std::int32_t num_heads, std::int32_t num_kv_heads, std::int32_t head_dim,
                      std::int32_t block_size, DType kv_dtype, std::vector<SequenceLens> sequences);

}  // namespace tvllm::testing
