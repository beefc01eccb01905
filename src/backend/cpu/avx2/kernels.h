// SPDX-License-Identifier: Apache-2.0
// The kernels for x86-64 processors with AVX2, FMA and F16C.
//
// Units of this folder are compiled with -m flags, so they include intrinsics and plain structs
// alone and define no inline function that another unit may define too: the linker would keep one
// of them for both. Each exports the functions declared here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace tvllm::cpu {

extern const KernelTable kAvx2Kernels;

namespace avx2 {

unsigned quantized_form(DType dtype);
std::size_t quantized_row_bytes(std::int64_t num_cols, unsigned forms);
void quantize_rows(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                   std::int64_t num_cols, unsigned forms, std::byte* out);

void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);
void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);
void multiply_floats(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);

void rms_norm(const NormArgs& args, std::int64_t token_begin, std::int64_t token_end);
void silu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end);
void gelu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end);
void rope_and_store(const RopeStoreArgs& args, std::int64_t token_begin, std::int64_t token_end);

std::size_t attention_scratch_bytes(std::int64_t num_rows, std::int64_t head_dim,
                                    std::int64_t block_size);
void attend_split(const AttentionSplit& args, std::byte* scratch);

}  // namespace avx2

}  // namespace tvllm::cpu
