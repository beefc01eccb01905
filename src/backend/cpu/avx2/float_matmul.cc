// SPDX-License-Identifier: Apache-2.0
// Weights that are floats in the file: every column of a panel is 16 of them.
//
// A sum runs over the columns in order, with fused multiply-adds, in one register.
#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/avx2/panel_matmul.h"

namespace tvllm::cpu::avx2 {

namespace {

// 12 sums, 2 weights and a value: 15 registers.
constexpr int kFloatTileTokens = 6;

struct Singles {
  using Element = float;
  static TVLLM_INLINE __m256 load(const float* p) { return _mm256_loadu_ps(p); }
};

struct Halves {
  using Element = std::uint16_t;
  static TVLLM_INLINE __m256 load(const std::uint16_t* p) {
    return _mm256_cvtph_ps(load_half_bytes(p));
  }
};

struct BrainHalves {
  using Element = std::uint16_t;
  static TVLLM_INLINE __m256 load(const std::uint16_t* p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_half_bytes(p)), 16));
  }
};

template <typename Type, int T>
TVLLM_INLINE void multiply_float_tile(const typename Type::Element* panel, const OutputRows& rows,
                                      std::int64_t token) {
  const MatmulArgs& args = rows.args;
  const float* x[T];
  __m256 sums[T][2];
  TVLLM_UNROLL
  for (int t = 0; t < T; ++t) {
    x[t] = args.x + (token + t) * args.x_stride;
    sums[t][0] = sums[t][1] = _mm256_setzero_ps();
  }
  for (std::int64_t c = 0; c < args.weight->num_cols; ++c, panel += kPanelRows) {
    const __m256 weights[2] = {Type::load(panel), Type::load(panel + 8)};
    TVLLM_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m256 value = _mm256_set1_ps(x[t][c]);
      sums[t][0] = _mm256_fmadd_ps(weights[0], value, sums[t][0]);
      sums[t][1] = _mm256_fmadd_ps(weights[1], value, sums[t][1]);
    }
  }
  TVLLM_UNROLL
  for (int t = 0; t < T; ++t) {
    rows.finish(token + t, 0, sums[t][0], 1.0f);
    rows.finish(token + t, 1, sums[t][1], 1.0f);
  }
}

template <typename Type>
void multiply_float_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto* panels = reinterpret_cast<const typename Type::Element*>(args.weight->packed);
  for (std::int64_t row = row_begin; row < row_end; row += kPanelRows) {
    const std::int64_t count = row_end - row < kPanelRows ? row_end - row : kPanelRows;
    const OutputRows rows = {args, row, count};
    const auto* panel = panels + row * args.weight->num_cols;
    std::int64_t token = 0;
    for (; token + kFloatTileTokens <= args.num_tokens; token += kFloatTileTokens) {
      multiply_float_tile<Type, kFloatTileTokens>(panel, rows, token);
    }
    for (; token + 2 <= args.num_tokens; token += 2) {
      multiply_float_tile<Type, 2>(panel, rows, token);
    }
    if (token < args.num_tokens) multiply_float_tile<Type, 1>(panel, rows, token);
  }
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

}  // namespace tvllm::cpu::avx2
