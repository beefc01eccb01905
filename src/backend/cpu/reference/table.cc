// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/reference/kernels.h"

namespace tvllm::cpu {

namespace {

std::size_t nothing_packed(const WeightPart&) {
  return 0;
}

void pack_nothing(const WeightPart&, std::byte*, std::int64_t, std::int64_t) {}

unsigned reads_floats(DType) {
  return 0;
}

std::size_t no_bytes(std::int64_t, unsigned) {
  return 0;
}

void quantize_nothing(const float*, std::int64_t, std::int64_t, std::int64_t, unsigned,
                      std::byte*) {}

}  // namespace

const KernelTable kReferenceKernels = {
    .name = "reference",
    .row_grain = 4,
    .packed_bytes = nothing_packed,
    .pack = pack_nothing,
    .load_row = reference::load_row,
    .quantized_form = reads_floats,
    .quantized_row_bytes = no_bytes,
    .quantize_rows = quantize_nothing,
    .matmul_scratch_bytes = reference::matmul_scratch_bytes,
    .matmul = reference::matmul,
    .rms_norm = reference::rms_norm,
    .silu_and_mul = reference::silu_and_mul,
    .gelu_and_mul = reference::gelu_and_mul,
    .rope_and_store = reference::rope_and_store,
    .attention_scratch_bytes = reference::attention_scratch_bytes,
    .attend_split = reference::attend_split,
};

}  // namespace tvllm::cpu
