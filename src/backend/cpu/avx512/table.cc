// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx512/table.h"

#include "backend/cpu/avx512/kernels.h"

namespace tvllm::cpu {

constinit const KernelTable kAvx512Kernels =
    avx512::table_of<avx512::multiply_quads, avx512::multiply_pairs>("avx512");

}  // namespace tvllm::cpu
