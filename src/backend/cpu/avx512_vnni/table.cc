// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx512/activations.h"
#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/avx512_vnni/kernels.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu {

namespace {

std::size_t no_scratch(std::int64_t) {
  return 0;
}

void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end, std::byte*) {
  switch (avx512::quantized_form(args.weight->dtype)) {
    case avx512::kBytes:
      return avx512_vnni::multiply_quads(args, row_begin, row_end);
    case avx512::kShorts:
      return avx512_vnni::multiply_pairs(args, row_begin, row_end);
    default:
      return avx512::multiply_floats(args, row_begin, row_end);
  }
}

}  // namespace

const KernelTable kAvx512VnniKernels = {
    .name = "avx512_vnni",
    .row_grain = kPanelRows,
    .packed_bytes = panel_bytes,
    .pack = pack_panels,
    .load_row = load_panel_row,
    .quantized_form = avx512::quantized_form,
    .quantized_row_bytes = avx512::quantized_row_bytes,
    .quantize_rows = avx512::quantize_rows,
    .matmul_scratch_bytes = no_scratch,
    .matmul = matmul,
    .rms_norm = avx512::rms_norm,
    .silu_and_mul = avx512::silu_and_mul,
    .rope_and_store = avx512::rope_and_store,
    .attention_scratch_bytes = avx512::attention_scratch_bytes,
    .attend_split = avx512::attend_split,
};

}  // namespace tvllm::cpu
