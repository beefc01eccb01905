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

std::size_t quad_scratch_bytes();
std::size_t pair_scratch_bytes();
void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                    std::byte* scratch);
void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                    std::byte* scratch);
void multiply_floats(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);

}  // namespace avx2

}  // namespace tvllm::cpu
