// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx2/activations.h"
#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu {

namespace {

std::size_t no_scratch(std::int64_t) {
  return 0;
}

void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end, std::byte*) {
  switch (avx2::quantized_form(args.weight->dtype)) {
    case avx2::kBytes:
      return avx2::multiply_quads(args, row_begin, row_end);
    case avx2::kShorts:
      return avx2::multiply_pairs(args, row_begin, row_end);
    default:
      return avx2::multiply_floats(args, row_begin, row_end);
  }
}

}  // namespace

const KernelTable kAvx2Kernels = {
    .name = "avx2",
    .row_grain = kPanelRows,
    .packed_bytes = panel_bytes,
    .pack = pack_panels,
    .load_row = load_panel_row,
    .quantized_form = avx2::quantized_form,
    .quantized_row_bytes = avx2::quantized_row_bytes,
    .quantize_rows = avx2::quantize_rows,
    .matmul_scratch_bytes = no_scratch,
    .matmul = matmul,
    .rms_norm = avx2::rms_norm,
    .silu_and_mul = avx2::silu_and_mul,
    .gelu_and_mul = avx2::gelu_and_mul,
    .rope_and_store = avx2::rope_and_store,
    .attention_scratch_bytes = avx2::attention_scratch_bytes,
    .attend_split = avx2::attend_split,
};

}  // namespace tvllm::cpu
