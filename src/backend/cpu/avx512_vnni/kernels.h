// SPDX-License-Identifier: Apache-2.0
// The kernels that AVX-512 VNNI does faster than AVX-512 alone; the others are those of
// avx512/kernels.h, which also says what is asked of these units.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace tvllm::cpu {

extern const KernelTable kAvx512VnniKernels;

namespace avx512_vnni {

void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);
void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);

}  // namespace avx512_vnni

}  // namespace tvllm::cpu
