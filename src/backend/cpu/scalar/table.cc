// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/scalar/activations.h"
#include "backend/cpu/scalar/kernels.h"

namespace tvllm::cpu {

namespace {

std::size_t nothing_packed(const WeightPart&) {
  return 0;
}

void pack_nothing(const WeightPart&, std::byte*, std::int64_t, std::int64_t) {}

bool wants_quantized(DType dtype) {
  return is_quantized(dtype);
}

}  // namespace

// Element-wise operations cost little and are those of the reference.
const KernelTable kScalarKernels = {
    .name = "scalar",
    .row_grain = 4,
    .packed_bytes = nothing_packed,
    .pack = pack_nothing,
    .load_row = reference::load_row,
    .wants_quantized = wants_quantized,
    .quantized_row_bytes = scalar::quantized_row_bytes,
    .quantize_rows = scalar::quantize_rows,
    .matmul_scratch_bytes = scalar::matmul_scratch_bytes,
    .matmul = scalar::matmul,
    .rms_norm = reference::rms_norm,
    .silu_and_mul = reference::silu_and_mul,
    .rope_and_store = reference::rope_and_store,
    .attention_scratch_bytes = scalar::attention_scratch_bytes,
    .attend_split = scalar::attend_split,
};

}  // namespace tvllm::cpu
