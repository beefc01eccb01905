// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx512/table.h"

#include "backend/cpu/avx512_vnni/kernels.h"

namespace tvllm::cpu {

constinit const KernelTable kAvx512VnniKernels =
    avx512::table_of<avx512_vnni::multiply_quads, avx512_vnni::multiply_pairs>("avx512_vnni");

}  // namespace tvllm::cpu
