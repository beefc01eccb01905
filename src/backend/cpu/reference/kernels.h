// SPDX-License-Identifier: Apache-2.0
// The kernels in plain loops that every other instruction set is compared with: weights become
// floats row by row, activations and the cache's values are floats, sums are float in a fixed order
// within short runs and double across them. Tables of other instruction sets take from here what
// they do not do faster.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace tvllm::cpu {

extern const KernelTable kReferenceKernels;

namespace reference {

void load_row(const WeightPart& weight, std::int64_t row, float* out);

std::size_t matmul_scratch_bytes(std::int64_t num_cols);
void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
            std::byte* scratch);

void rms_norm(const NormArgs& args, std::int64_t token_begin, std::int64_t token_end);
void silu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end);
void gelu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end);
void rope_and_store(const RopeStoreArgs& args, std::int64_t token_begin, std::int64_t token_end);

std::size_t attention_scratch_bytes(std::int64_t num_rows, std::int64_t head_dim,
                                    std::int64_t block_size);
void attend_split(const AttentionSplit& args, std::byte* scratch);

}  // namespace reference

}  // namespace tvllm::cpu
