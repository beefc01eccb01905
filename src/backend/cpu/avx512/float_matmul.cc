// SPDX-License-Identifier: Apache-2.0
// Weights that are floats in the file: every column of a panel is 16 of them.
//
// A sum runs over the columns in order, with fused multiply-adds, in one register.
#include "backend/cpu/avx512/elements.h"
#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/avx512/panel_matmul.h"

namespace tvllm::cpu::avx512 {

namespace {

// Two panels: 24 sums, 2 weights and a value. For one token as many panels as hide the latency of
// an addition.
constexpr int kFloatTileTokens = 12;
constexpr int kOneTokenPanels = 4;

template <typename Type, int P, int T>
void multiply_float_tile(const MatmulArgs& args, std::int64_t row, std::int64_t row_end,
                         std::int64_t token) {
  const std::int64_t num_cols = args.weight->num_cols;
  const auto* panel =
      reinterpret_cast<const typename Type::Element*>(args.weight->packed) + row * num_cols;
  const float* x = args.x + token * args.x_stride;
  __m512 sums[T][P];
  TVLLM_UNROLL
  for (int t = 0; t < T; ++t) {
    TVLLM_UNROLL
    for (int p = 0; p < P; ++p) {
      sums[t][p] = _mm512_setzero_ps();
    }
  }
  for (std::int64_t c = 0; c < num_cols; ++c) {
    __m512 weights[P];
    TVLLM_UNROLL
    for (int p = 0; p < P; ++p) {
      weights[p] = Type::load(panel + (p * num_cols + c) * kPanelRows);
    }
    TVLLM_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m512 value = _mm512_set1_ps(x[t * args.x_stride + c]);
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        sums[t][p] = _mm512_fmadd_ps(weights[p], value, sums[t][p]);
      }
    }
  }
  TVLLM_UNROLL
  for (int p = 0; p < P; ++p) {
    const OutputRows rows = output_rows(args, row + p * kPanelRows, row_end);
    TVLLM_UNROLL
    for (int t = 0; t < T; ++t) {
      rows.finish(token + t, sums[t][p], 1.0f);
    }
  }
}

template <typename Type, int P>
void multiply_float_tokens(const MatmulArgs& args, std::int64_t row, std::int64_t row_end,
                           std::int64_t token) {
  for (; token + kFloatTileTokens <= args.num_tokens; token += kFloatTileTokens) {
    multiply_float_tile<Type, P, kFloatTileTokens>(args, row, row_end, token);
  }
  for (; token + 4 <= args.num_tokens; token += 4) {
    multiply_float_tile<Type, P, 4>(args, row, row_end, token);
  }
  for (; token < args.num_tokens; ++token) {
    multiply_float_tile<Type, P, 1>(args, row, row_end, token);
  }
}

template <typename Type>
void multiply_float_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  std::int64_t row = row_begin;
  if (args.num_tokens == 1) {
    for (; row_end - row > (kOneTokenPanels - 1) * kPanelRows;
         row += kOneTokenPanels * kPanelRows) {
      multiply_float_tile<Type, kOneTokenPanels, 1>(args, row, row_end, 0);
    }
  }
  for (; row_end - row > kPanelRows; row += kPanels * kPanelRows) {
    multiply_float_tokens<Type, kPanels>(args, row, row_end, 0);
  }
  if (row < row_end) multiply_float_tokens<Type, 1>(args, row, row_end, 0);
}

}  // namespace

void multiply_floats(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  switch (args.weight->dtype) {
    case DType::kF16:
      return multiply_float_panels<Halves>(args, row_begin, row_end);
    case DType::kBF16:
      return multiply_float_panels<BrainHalves>(args, row_begin, row_end);
    default:
      return multiply_float_panels<Singles>(args, row_begin, row_end);
  }
}

}  // namespace tvllm::cpu::avx512
