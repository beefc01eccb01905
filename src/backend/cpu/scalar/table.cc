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

// There is one form.
unsigned quantized_form(DType dtype) {
  return is_quantized(dtype) ? 1 : 0;
}

std::size_t quantized_row_bytes(std::int64_t num_cols, unsigned) {
  return scalar::quantized_row_bytes(num_cols);
}

void quantize_rows(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                   std::int64_t num_cols, unsigned, std::byte* out) {
  scalar::quantize_rows(x, x_stride, num_rows, num_cols, out);
}

}  // namespace

// Element-wise operations cost little and are those of the reference.
const KernelTable kScalarKernels = {
    .name = "scalar",
    .row_grain = 4,
    .packed_bytes = nothing_packed,
    .pack = pack_nothing,
    .load_row = reference::load_row,
    .quantized_form = quantized_form,
    .quantized_row_bytes = quantized_row_bytes,
    .quantize_rows = quantize_rows,
    .matmul_scratch_bytes = scalar::matmul_scratch_bytes,
    .matmul = scalar::matmul,
    .rms_norm = reference::rms_norm,
    .silu_and_mul = reference::silu_and_mul,
    .gelu_and_mul = reference::gelu_and_mul,
    .rope_and_store = reference::rope_and_store,
    .attention_scratch_bytes = scalar::attention_scratch_bytes,
    .attend_split = scalar::attend_split,
};

}  // namespace tvllm::cpu
