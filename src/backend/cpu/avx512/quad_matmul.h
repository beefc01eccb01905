// SPDX-License-Identifier: Apache-2.0
// Weights of 4 and 5 bits: products of bytes, exact in 32 bits, then floats. Instruction sets
// differ in how they multiply, so they pass that as a type. Everything has internal linkage.
#pragma once

#include "backend/cpu/avx512/activations.h"
#include "backend/cpu/avx512/panel_matmul.h"
#include "backend/cpu/avx512/quads.h"

namespace tvllm::cpu::avx512 {

namespace {

constexpr int kQuads = 8;  // of a group

class ByteRows {
 public:
  ByteRows(const MatmulArgs& args, std::int64_t token)
      : values_(args.quantized + token * args.quantized_stride + sizeof(RowHeader)),
        factors_(values_ + args.weight->num_cols),
        stride_(args.quantized_stride) {}

  float scale(int) const { return 1.0f; }
  TVLLM_INLINE const std::byte* values(int t, std::int64_t g) const {
    return values_ + t * stride_ + g * kPanelGroup;
  }
  TVLLM_INLINE const GroupFactors& factors(int t, std::int64_t g) const {
    return reinterpret_cast<const GroupFactors*>(factors_ + t * stride_)[g];
  }
  std::int64_t stride() const { return stride_; }

 private:
  const std::byte* values_;
  const std::byte* factors_;
  std::int64_t stride_;
};

// What Dots is asked for:
//
//   multiply<P>(weights, x, dots)   dots[p] = the products of the group of P panels with 32 values
template <typename Packed, typename Dots>
class QuadFormat {
 public:
  static constexpr std::int64_t kGroupBytes = 320;
  using Activations = ByteRows;

  QuadFormat(const WeightPart& weight, std::int64_t panel) : weight_(weight), panel_(panel) {}

  template <int P>
  TVLLM_INLINE void add_group(std::int64_t g, const ByteRows& x, int num_tokens,
                              TokenSums<P>* tile) const {
    __m512i weights[P][kQuads];
    __m512 scales[P];
    __m512 mins[P];
    TVLLM_UNROLL
    for (int p = 0; p < P; ++p) {
      const Packed packed(weight_, panel_ + p);
      scales[p] = packed.scales(g);
      mins[p] = packed.mins(g);
      TVLLM_UNROLL
      for (int q = 0; q < kQuads; ++q) {
        weights[p][q] = packed.quad(g, q);
      }
    }
    for (int t = 0; t < num_tokens; ++t) {
      __m512i dots[P];
      Dots::template multiply<P>(weights, x.values(t, g), dots);
      const GroupFactors& factors = x.factors(t, g);
      const __m512 scale = _mm512_set1_ps(factors.scale);
      const __m512 sum = _mm512_set1_ps(factors.sum);
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(dots[p]), scale);
        const __m512 with_mins = _mm512_fmadd_ps(mins[p], sum, tile[t].sums[p]);
        tile[t].sums[p] = _mm512_fmadd_ps(scaled, scales[p], with_mins);
      }
    }
  }

 private:
  const WeightPart& weight_;
  const std::int64_t panel_;
};

template <typename Dots>
void multiply_quad_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  switch (args.weight->dtype) {
    case DType::kQ4_0:
      return multiply_panels<QuadFormat<PackedQ4_0, Dots>>(args, row_begin, row_end);
    case DType::kQ4_1:
      return multiply_panels<QuadFormat<PackedQ4_1, Dots>>(args, row_begin, row_end);
    case DType::kQ5_0:
      return multiply_panels<QuadFormat<PackedQ5_0, Dots>>(args, row_begin, row_end);
    case DType::kQ5_1:
      return multiply_panels<QuadFormat<PackedQ5_1, Dots>>(args, row_begin, row_end);
    case DType::kQ4_K:
      return multiply_panels<QuadFormat<PackedQ4_K, Dots>>(args, row_begin, row_end);
    default:
      return multiply_panels<QuadFormat<PackedQ5_K, Dots>>(args, row_begin, row_end);
  }
}

}  // namespace

}  // namespace tvllm::cpu::avx512
