// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx2/activations.h"
#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/scalar/kernels.h"

namespace tvllm::cpu {

namespace {

std::size_t matmul_scratch_bytes(std::int64_t) {
  const std::size_t quads = avx2::quad_scratch_bytes();
  const std::size_t pairs = avx2::pair_scratch_bytes();
  return quads > pairs ? quads : pairs;
}

void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
            std::byte* scratch) {
  switch (avx2::quantized_form(args.weight->dtype)) {
    case avx2::kBytes:
      return avx2::multiply_quads(args, row_begin, row_end, scratch);
    case avx2::kShorts:
      return avx2::multiply_pairs(args, row_begin, row_end, scratch);
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
    .matmul_scratch_bytes = matmul_scratch_bytes,
    .matmul = matmul,
    .rms_norm = reference::rms_norm,
    .silu_and_mul = reference::silu_and_mul,
    .rope_and_store = reference::rope_and_store,
    .attention_scratch_bytes = scalar::attention_scratch_bytes,
    .attend_split = scalar::attend_split,
};

}  // namespace tvllm::cpu
