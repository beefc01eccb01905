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

template <int T>
struct ByteRows {
  ByteRows(const MatmulArgs& args, std::int64_t token) {
    for (int t = 0; t < T; ++t) {
      const std::byte* row = args.quantized + (token + t) * args.quantized_stride;
      scale[t] = reinterpret_cast<const RowHeader*>(row)->byte_scale;
      groups[t] = reinterpret_cast<const ByteGroup*>(row + sizeof(RowHeader));
    }
  }
  float scale[T];
  const ByteGroup* groups[T];
};

template <typename PackedReader>
struct QuadFormat {
  using Packed = PackedReader;
  using Unpacked = UnpackedQuads;
  template <int T>
  using Activations = ByteRows<T>;
  static constexpr std::int64_t kChunkGroups = 24;

  static void unpack(const Packed& packed, std::int64_t g, QuadGroup& to) {
    unpack_quads(packed, g, to);
  }

  template <int T, typename Reader>
  static TVLLM_INLINE void accumulate(const Reader& reader, const ByteRows<T>& x,
                                      std::int64_t first_group, std::int64_t num_groups,
                                      __m256 (&sums)[T][2]) {
    const ByteGroup* groups[T];
    TVLLM_UNROLL
    for (int t = 0; t < T; ++t) {
      groups[t] = x.groups[t] + first_group;
    }
    for (std::int64_t g = 0; g < num_groups; ++g) {
      __m256i dots[T][2];
      TVLLM_UNROLL
      for (int part = 0; part < 2; ++part) {
        add_sixteen<T>(reader, g, part, groups, dots);
      }
      TVLLM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const __m256 scales = reader.scales(g, half);
        const __m256 mins = reader.mins(g, half);
        TVLLM_UNROLL
        for (int t = 0; t < T; ++t) {
          sums[t][half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[t][half]), scales, sums[t][half]);
          sums[t][half] = _mm256_fmadd_ps(_mm256_set1_ps(groups[t][g].sum), mins, sums[t][half]);
        }
      }
    }
  }

 private:
  // The products of 16 columns, which share a multiplier.
  template <int T, typename Reader>
  static TVLLM_INLINE void add_sixteen(const Reader& reader, std::int64_t g, int part,
                                       const ByteGroup* const (&groups)[T], __m256i (&dots)[T][2]) {
    __m256i lanes[T][2];
    TVLLM_UNROLL
    for (int q = 0; q < 4; ++q) {
      const __m256i weights[2] = {reader.quad(g, 0, 4 * part + q), reader.quad(g, 1, 4 * part + q)};
      TVLLM_UNROLL
      for (int t = 0; t < T; ++t) {
        const __m256i values = repeat_word(groups[t][g].values + 16 * part + 4 * q);
        TVLLM_UNROLL
        for (int half = 0; half < 2; ++half) {
          const __m256i products = _mm256_maddubs_epi16(weights[half], values);
          lanes[t][half] = q == 0 ? products : _mm256_add_epi16(lanes[t][half], products);
        }
      }
    }
    TVLLM_UNROLL
    for (int t = 0; t < T; ++t) {
      const __m256i multipliers = repeat_word(&groups[t][g].multipliers[part]);
      TVLLM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const __m256i scaled = _mm256_madd_epi16(lanes[t][half], multipliers);
        dots[t][half] = part == 0 ? scaled : _mm256_add_epi32(dots[t][half], scaled);
      }
    }
  }
};

using Q4_0 = QuadFormat<SmallPanel<PanelQ4_0, false, false, 8>>;
using Q4_1 = QuadFormat<SmallPanel<PanelQ4_1, false, true, 0>>;
using Q5_0 = QuadFormat<SmallPanel<PanelQ5_0, true, false, 16>>;
using Q5_1 = QuadFormat<SmallPanel<PanelQ5_1, true, true, 0>>;
using Q4_K = QuadFormat<SuperPanel<PanelQ4_K, false>>;
using Q5_K = QuadFormat<SuperPanel<PanelQ5_K, true>>;

}  // namespace

std::size_t quad_scratch_bytes() {
  return Q4_1::kChunkGroups * sizeof(QuadGroup);
}

void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                    std::byte* scratch) {
  switch (args.weight->dtype) {
    case DType::kQ4_0:
      return multiply_panels<Q4_0>(args, row_begin, row_end, scratch);
    case DType::kQ4_1:
      return multiply_panels<Q4_1>(args, row_begin, row_end, scratch);
    case DType::kQ5_0:
      return multiply_panels<Q5_0>(args, row_begin, row_end, scratch);
    case DType::kQ5_1:
      return multiply_panels<Q5_1>(args, row_begin, row_end, scratch);
    case DType::kQ4_K:
      return multiply_panels<Q4_K>(args, row_begin, row_end, scratch);
    default:
      return multiply_panels<Q5_K>(args, row_begin, row_end, scratch);
  }
}

}  // namespace tvllm::cpu::avx2
