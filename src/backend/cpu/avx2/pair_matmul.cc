// SPDX-License-Identifier: Apache-2.0
// Weights of 6 and 8 bits: their products with bytes would not fit the 16 bits of vpmaddubsw, so
// both sides are 16 bits wide and the activations keep 14 of them. A group of 32 sums up to
// 32 * 4,096 * 8,128 = 1.07e9 < 2^31: nothing overflows.
#include "backend/cpu/avx2/activations.h"
#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/avx2/panel_matmul.h"

namespace tvllm::cpu::avx2 {

namespace {

class BytePanel {
 public:
  BytePanel(const WeightPart& weight, std::int64_t panel)
      : groups_(reinterpret_cast<const PanelQ8_0*>(weight.packed) +
                panel * (weight.num_cols / kPanelGroup)) {}

  TVLLM_INLINE __m256i pair(std::int64_t g, int half, int pair) const {
    return _mm256_cvtepi8_epi16(load_half_bytes(groups_[g].pairs[pair][half]));
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return _mm256_cvtph_ps(load_half_bytes(groups_[g].scales + 8 * half));
  }

 private:
  const PanelQ8_0* groups_;
};

// The scale of 16 columns, an integer, is multiplied into the weights.
class SixBitPanel {
 public:
  SixBitPanel(const WeightPart& weight, std::int64_t panel)
      : blocks_(reinterpret_cast<const PanelQ6_K*>(weight.packed) +
                panel * (weight.num_cols / (kPanelGroup * kSuperGroups))) {}

  TVLLM_INLINE __m256i pair(std::int64_t g, int half, int pair) const {
    const PanelQ6_K::Group& group = group_at(g);
    return _mm256_mullo_epi16(_mm256_cvtepi8_epi16(load_half_bytes(group.pairs[pair][half])),
                              _mm256_cvtepi8_epi16(load_half_bytes(group.scales[pair / 8][half])));
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return _mm256_cvtph_ps(load_half_bytes(blocks_[g / kSuperGroups].d + 8 * half));
  }

 private:
  TVLLM_INLINE const PanelQ6_K::Group& group_at(std::int64_t g) const {
    return blocks_[g / kSuperGroups].groups[g % kSuperGroups];
  }
  const PanelQ6_K* blocks_;
};

class ShortRows {
 public:
  ShortRows(const MatmulArgs& args, std::int64_t token)
      : first_(args.quantized + token * args.quantized_stride), stride_(args.quantized_stride) {
    if ((args.quantized_forms & kBytes) != 0) {
      offset_ += args.weight->num_cols / kPanelGroup * std::int64_t{sizeof(ByteGroup)};
    }
  }

  float scale(int t) const {
    return reinterpret_cast<const RowHeader*>(first_ + t * stride_)->short_scale;
  }
  TVLLM_INLINE const std::int16_t* group(int t, std::int64_t g) const {
    return reinterpret_cast<const std::int16_t*>(first_ + t * stride_ + offset_) + g * kPanelGroup;
  }

 private:
  const std::byte* first_;
  std::int64_t stride_;
  std::int64_t offset_ = sizeof(RowHeader);
};

template <typename PackedReader>
struct PairFormat {
  using Packed = PackedReader;
  static constexpr std::int64_t kGroupBytes = 544;
  using Activations = ShortRows;

  static TVLLM_INLINE void add_group(const Packed& packed, std::int64_t g, const ShortRows& x,
                                     int num_tokens, TokenSums* tile) {
    const Pairs first(packed, g, 0);
    for (int t = 0; t < num_tokens; ++t) {
      first.multiply(x.group(t, g), tile[t].dots);
    }
    TVLLM_UNROLL
    for (int part = 1; part < 3; ++part) {
      const Pairs pairs(packed, g, part);
      for (int t = 0; t < num_tokens; ++t) {
        __m256i dots[2];
        pairs.multiply(x.group(t, g), dots);
        tile[t].dots[0] = _mm256_add_epi32(tile[t].dots[0], dots[0]);
        tile[t].dots[1] = _mm256_add_epi32(tile[t].dots[1], dots[1]);
      }
    }
    const Pairs last(packed, g, 3);
    const __m256 scales[2] = {packed.scales(g, 0), packed.scales(g, 1)};
    for (int t = 0; t < num_tokens; ++t) {
      __m256i dots[2];
      last.multiply(x.group(t, g), dots);
      TVLLM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const __m256i dot = _mm256_add_epi32(tile[t].dots[half], dots[half]);
        tile[t].sums[half] =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), scales[half], tile[t].sums[half]);
      }
    }
  }

 private:
  // A quarter of a group: 8 columns.
  class Pairs {
   public:
    TVLLM_INLINE Pairs(const Packed& packed, std::int64_t g, int part) : part_(part) {
      TVLLM_UNROLL
      for (int p = 0; p < 4; ++p) {
        weights_[p][0] = packed.pair(g, 0, 4 * part + p);
        weights_[p][1] = packed.pair(g, 1, 4 * part + p);
      }
    }

    TVLLM_INLINE void multiply(const std::int16_t* x, __m256i (&dots)[2]) const {
      TVLLM_UNROLL
      for (int p = 0; p < 4; ++p) {
        const __m256i values = repeat_word(x + 8 * part_ + 2 * p);
        TVLLM_UNROLL
        for (int half = 0; half < 2; ++half) {
          const __m256i products = _mm256_madd_epi16(weights_[p][half], values);
          dots[half] = p == 0 ? products : _mm256_add_epi32(dots[half], products);
        }
      }
    }

   private:
    __m256i weights_[4][2];
    const int part_;
  };
};

}  // namespace

void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  if (args.weight->dtype == DType::kQ8_0) {
    multiply_panels<PairFormat<BytePanel>>(args, row_begin, row_end);
  } else {
    multiply_panels<PairFormat<SixBitPanel>>(args, row_begin, row_end);
  }
}

}  // namespace tvllm::cpu::avx2
