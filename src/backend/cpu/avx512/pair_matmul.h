// SPDX-License-Identifier: Apache-2.0
// Weights of 6 and 8 bits: both sides are 16 bits wide and the activations keep 14 of them. A group
// of 32 sums up to 32 * 4,096 * 8,128 = 1.07e9 < 2^31: nothing overflows. Everything has internal
// linkage.
#pragma once

#include "backend/cpu/avx512/activations.h"
#include "backend/cpu/avx512/panel_matmul.h"

namespace tvllm::cpu::avx512 {

namespace {

class PackedQ8_0 {
 public:
  PackedQ8_0(const WeightPart& weight, std::int64_t panel)
      : groups_(reinterpret_cast<const PanelQ8_0*>(weight.packed) +
                panel * (weight.num_cols / kPanelGroup)) {}

  TVLLM_INLINE __m512i pair(std::int64_t g, int pair) const {
    return _mm512_cvtepi8_epi16(load_half_bytes(groups_[g].pairs[pair]));
  }
  TVLLM_INLINE __m512 scales(std::int64_t g) const {
    return _mm512_cvtph_ps(load_half_bytes(groups_[g].scales));
  }

 private:
  const PanelQ8_0* groups_;
};

// The scale of 16 columns, an integer, is multiplied into the weights.
class PackedQ6_K {
 public:
  PackedQ6_K(const WeightPart& weight, std::int64_t panel)
      : blocks_(reinterpret_cast<const PanelQ6_K*>(weight.packed) +
                panel * (weight.num_cols / (kPanelGroup * kSuperGroups))) {}

  TVLLM_INLINE __m512i pair(std::int64_t g, int pair) const {
    const PanelQ6_K::Group& group = blocks_[g / kSuperGroups].groups[g % kSuperGroups];
    return _mm512_mullo_epi16(_mm512_cvtepi8_epi16(load_half_bytes(group.pairs[pair])),
                              _mm512_cvtepi8_epi16(load_half_bytes(group.scales[pair / 8])));
  }
  TVLLM_INLINE __m512 scales(std::int64_t g) const {
    return _mm512_cvtph_ps(load_half_bytes(blocks_[g / kSuperGroups].d));
  }

 private:
  const PanelQ6_K* blocks_;
};

class ShortRows {
 public:
  ShortRows(const MatmulArgs& args, std::int64_t token)
      : first_(args.quantized + token * args.quantized_stride), stride_(args.quantized_stride) {
    if ((args.quantized_forms & kBytes) != 0) {
      const std::int64_t num_cols = args.weight->num_cols;
      offset_ += num_cols + num_cols / kPanelGroup * std::int64_t{sizeof(GroupFactors)};
    }
  }

  float scale(int t) const {
    return reinterpret_cast<const RowHeader*>(first_ + t * stride_)->short_scale;
  }
  TVLLM_INLINE const std::int16_t* values(int t, std::int64_t g) const {
    return reinterpret_cast<const std::int16_t*>(first_ + t * stride_ + offset_) + g * kPanelGroup;
  }

 private:
  const std::byte* first_;
  std::int64_t stride_;
  std::int64_t offset_ = sizeof(RowHeader);
};

// What Dots is asked for: add(sums, a, b), 16 sums of two products of 16 bits each, added to sums.
template <typename Packed, typename Dots>
class PairFormat {
 public:
  static constexpr std::int64_t kGroupBytes = 544;
  using Activations = ShortRows;

  PairFormat(const WeightPart& weight, std::int64_t panel) : weight_(weight), panel_(panel) {}

  template <int P>
  TVLLM_INLINE void add_group(std::int64_t g, const ShortRows& x, int num_tokens,
                              TokenSums<P>* tile) const {
    const Half<P> first(*this, g, 0);
    for (int t = 0; t < num_tokens; ++t) {
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        tile[t].dots[p] = _mm512_setzero_si512();
      }
      first.add(x.values(t, g), tile[t].dots);
    }
    const Half<P> last(*this, g, 1);
    __m512 scales[P];
    TVLLM_UNROLL
    for (int p = 0; p < P; ++p) {
      scales[p] = Packed(weight_, panel_ + p).scales(g);
    }
    for (int t = 0; t < num_tokens; ++t) {
      last.add(x.values(t, g), tile[t].dots);
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        tile[t].sums[p] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(tile[t].dots[p]), scales[p], tile[t].sums[p]);
      }
    }
  }

 private:
  static constexpr int kPairs = 8;

  // 16 columns of a group.
  template <int P>
  class Half {
   public:
    TVLLM_INLINE Half(const PairFormat& format, std::int64_t g, int half) : half_(half) {
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        const Packed packed(format.weight_, format.panel_ + p);
        TVLLM_UNROLL
        for (int i = 0; i < kPairs; ++i) {
          weights_[p][i] = packed.pair(g, kPairs * half + i);
        }
      }
    }

    TVLLM_INLINE void add(const std::int16_t* x, __m512i (&dots)[P]) const {
      __m512i sums[P];
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        sums[p] = dots[p];
      }
      TVLLM_UNROLL
      for (int i = 0; i < kPairs; ++i) {
        const __m512i values = repeat_word(x + 2 * (kPairs * half_ + i));
        TVLLM_UNROLL
        for (int p = 0; p < P; ++p) {
          sums[p] = Dots::add(sums[p], weights_[p][i], values);
        }
      }
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        dots[p] = sums[p];
      }
    }

   private:
    __m512i weights_[P][kPairs];
    const int half_;
  };

  const WeightPart& weight_;
  const std::int64_t panel_;
};

template <typename Dots>
void multiply_pair_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  if (args.weight->dtype == DType::kQ8_0) {
    multiply_panels<PairFormat<PackedQ8_0, Dots>>(args, row_begin, row_end);
  } else {
    multiply_panels<PairFormat<PackedQ6_K, Dots>>(args, row_begin, row_end);
  }
}

}  // namespace

}  // namespace tvllm::cpu::avx512
