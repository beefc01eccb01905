// SPDX-License-Identifier: Apache-2.0
// The quantized algorithm in plain C++: what the vector instruction sets do, for machines that have
// none of them and as the second opinion in tests. Quantized weights stay integers: int8
// activations, integer dot products per group, fp32 sums over the groups in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace tvllm::cpu {

extern const KernelTable kScalarKernels;

namespace scalar {

std::size_t matmul_scratch_bytes(std::int64_t num_cols);
void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
            std::byte* scratch);

std::size_t attention_scratch_bytes(std::int64_t num_rows, std::int64_t head_dim,
                                    std::int64_t block_size);
void attend_split(const AttentionSplit& args, std::byte* scratch);

}  // namespace scalar

}  // namespace tvllm::cpu
