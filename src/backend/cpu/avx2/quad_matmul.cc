// SPDX-License-Identifier: Apache-2.0
// Weights of 4 and 5 bits: products of bytes.
//
// vpmaddubsw multiplies unsigned bytes with signed ones and adds neighbours in 16 bits, saturating;
// here nothing ever saturates. A weight is at most 31, a value at most 127 in magnitude, so a lane,
// after the 4 quads that share a multiplier, is at most 4 * 2 * 31 * 127 = 31,496 < 32,767.
// vpmaddwd then multiplies by the multiplier (<= 8,192), adds neighbours in 32 bits, and the two
// multipliers of a group give at most 2 * 2 * 31,496 * 8,192 = 1.03e9 < 2^31.
#include "backend/cpu/avx2/activations.h"
#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/avx2/panel_matmul.h"
#include "backend/cpu/avx2/quads.h"

namespace tvllm::cpu::avx2 {

namespace {

class ByteRows {
 public:
  ByteRows(const MatmulArgs& args, std::int64_t token)
      : first_(args.quantized + token * args.quantized_stride), stride_(args.quantized_stride) {}

  float scale(int t) const {
    return reinterpret_cast<const RowHeader*>(first_ + t * stride_)->byte_scale;
  }
  TVLLM_INLINE const ByteGroup& group(int t, std::int64_t g) const {
    return reinterpret_cast<const ByteGroup*>(first_ + t * stride_ + sizeof(RowHeader))[g];
  }

 private:
  const std::byte* first_;
  std::int64_t stride_;
};

template <typename PackedReader>
struct QuadFormat {
  using Packed = PackedReader;
  static constexpr std::int64_t kGroupBytes = 320;
  using Activations = ByteRows;

  static TVLLM_INLINE void add_group(const Packed& packed, std::int64_t g, const ByteRows& x,
                                     int num_tokens, TokenSums* tile) {
    {
      const Quads first(packed, g, 0);
      for (int t = 0; t < num_tokens; ++t) {
        first.multiply(x.group(t, g), tile[t].dots);
      }
    }
    const Quads last(packed, g, 1);
    const __m256 scales[2] = {packed.scales(g, 0), packed.scales(g, 1)};
    const __m256 mins[2] = {packed.mins(g, 0), packed.mins(g, 1)};
    for (int t = 0; t < num_tokens; ++t) {
      const ByteGroup& group = x.group(t, g);
      __m256i dots[2];
      last.multiply(group, dots);
      const __m256 sum = _mm256_set1_ps(group.sum);
      TVLLM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const __m256i dot = _mm256_add_epi32(tile[t].dots[half], dots[half]);
        const __m256 with_min = _mm256_fmadd_ps(sum, mins[half], tile[t].sums[half]);
        tile[t].sums[half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scales[half], with_min);
      }
    }
  }

 private:
  // The 16 columns of a group that share a multiplier.
  class Quads {
   public:
    TVLLM_INLINE Quads(const Packed& packed, std::int64_t g, int part) : part_(part) {
      TVLLM_UNROLL
      for (int q = 0; q < 4; ++q) {
        weights_[q][0] = packed.quad(g, 0, 4 * part + q);
        weights_[q][1] = packed.quad(g, 1, 4 * part + q);
      }
    }

    TVLLM_INLINE void multiply(const ByteGroup& x, __m256i (&dots)[2]) const {
      __m256i lanes[2];
      TVLLM_UNROLL
      for (int q = 0; q < 4; ++q) {
        const __m256i values = repeat_word(x.values + 16 * part_ + 4 * q);
        TVLLM_UNROLL
        for (int half = 0; half < 2; ++half) {
          const __m256i products = _mm256_maddubs_epi16(weights_[q][half], values);
          lanes[half] = q == 0 ? products : _mm256_add_epi16(lanes[half], products);
        }
      }
      const __m256i multipliers = repeat_word(&x.multipliers[part_]);
      dots[0] = _mm256_madd_epi16(lanes[0], multipliers);
      dots[1] = _mm256_madd_epi16(lanes[1], multipliers);
    }

   private:
    __m256i weights_[4][2];
    const int part_;
  };
};

using Q4_0 = QuadFormat<SmallPanel<PanelQ4_0, false, false, 8>>;
using Q4_1 = QuadFormat<SmallPanel<PanelQ4_1, false, true, 0>>;
using Q5_0 = QuadFormat<SmallPanel<PanelQ5_0, true, false, 16>>;
using Q5_1 = QuadFormat<SmallPanel<PanelQ5_1, true, true, 0>>;
using Q4_K = QuadFormat<SuperPanel<PanelQ4_K, false>>;
using Q5_K = QuadFormat<SuperPanel<PanelQ5_K, true>>;

}  // namespace

void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  switch (args.weight->dtype) {
    case DType::kQ4_0:
      return multiply_panels<Q4_0>(args, row_begin, row_end);
    case DType::kQ4_1:
      return multiply_panels<Q4_1>(args, row_begin, row_end);
    case DType::kQ5_0:
      return multiply_panels<Q5_0>(args, row_begin, row_end);
    case DType::kQ5_1:
      return multiply_panels<Q5_1>(args, row_begin, row_end);
    case DType::kQ4_K:
      return multiply_panels<Q4_K>(args, row_begin, row_end);
    default:
      return multiply_panels<Q5_K>(args, row_begin, row_end);
  }
}

}  // namespace tvllm::cpu::avx2
