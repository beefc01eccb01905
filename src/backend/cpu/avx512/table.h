// SPDX-License-Identifier: Apache-2.0
// What the tables of AVX-512 have in common: all but the products of quantized weights.
#pragma once

#include "backend/cpu/avx512/activations.h"
#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu::avx512 {

namespace {

using Multiply = void (*)(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end);

inline std::size_t no_scratch(std::int64_t) {
  return 0;
}

template <Multiply kQuads, Multiply kPairs>
void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end, std::byte*) {
  switch (quantized_form(args.weight->dtype)) {
    case kBytes:
      return kQuads(args, row_begin, row_end);
    case kShorts:
      return kPairs(args, row_begin, row_end);
    default:
      return multiply_floats(args, row_begin, row_end);
  }
}

template <Multiply kQuads, Multiply kPairs>
constexpr KernelTable table_of(const char* name) {
  return {
      .name = name,
      .row_grain = kPanelRows,
      .packed_bytes = panel_bytes,
      .pack = pack_panels,
      .load_row = load_panel_row,
      .quantized_form = quantized_form,
      .quantized_row_bytes = quantized_row_bytes,
      .quantize_rows = quantize_rows,
      .matmul_scratch_bytes = no_scratch,
      .matmul = matmul<kQuads, kPairs>,
      .rms_norm = rms_norm,
      .silu_and_mul = silu_and_mul,
      .gelu_and_mul = gelu_and_mul,
      .rope_and_store = rope_and_store,
      .attention_scratch_bytes = attention_scratch_bytes,
      .attend_split = attend_split,
  };
}

}  // namespace

}  // namespace tvllm::cpu::avx512
