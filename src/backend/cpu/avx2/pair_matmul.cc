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
    return _mm256_cvtepi8_epi16(load_half_bytes(groups_[g].pairs[half][pair]));
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return _mm256_cvtph_ps(load_half_bytes(groups_[g].scales + 8 * half));
  }
  const char* address_of(std::int64_t g) const {
    return reinterpret_cast<const char*>(groups_ + g);
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
    return _mm256_mullo_epi16(_mm256_cvtepi8_epi16(load_half_bytes(group.pairs[half][pair])),
                              _mm256_cvtepi8_epi16(load_half_bytes(group.scales[half][pair / 8])));
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return _mm256_cvtph_ps(load_half_bytes(blocks_[g / kSuperGroups].d + 8 * half));
  }
  const char* address_of(std::int64_t g) const {
    return reinterpret_cast<const char*>(&group_at(g));
  }

 private:
  TVLLM_INLINE const PanelQ6_K::Group& group_at(std::int64_t g) const {
    return blocks_[g / kSuperGroups].groups[g % kSuperGroups];
  }
  const PanelQ6_K* blocks_;
};

struct PairGroup {
  std::int16_t pairs[2][16][16];
  float scales[kPanelRows];
};

struct UnpackedPairs {
  using Group = PairGroup;
  const PairGroup* groups;

  TVLLM_INLINE __m256i pair(std::int64_t g, int half, int pair) const {
    return load_bytes(groups[g].pairs[half][pair]);
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return _mm256_loadu_ps(groups[g].scales + 8 * half);
  }
};

template <int T>
struct ShortRows {
  ShortRows(const MatmulArgs& args, std::int64_t token) {
    std::int64_t offset = sizeof(RowHeader);
    if ((args.quantized_forms & kBytes) != 0) {
      offset += args.weight->num_cols / kPanelGroup * std::int64_t{sizeof(ByteGroup)};
    }
    for (int t = 0; t < T; ++t) {
      const std::byte* row = args.quantized + (token + t) * args.quantized_stride;
      scale[t] = reinterpret_cast<const RowHeader*>(row)->short_scale;
      values[t] = reinterpret_cast<const std::int16_t*>(row + offset);
    }
  }
  float scale[T];
  const std::int16_t* values[T];
};

template <typename PackedReader>
struct PairFormat {
  using Packed = PackedReader;
  using Unpacked = UnpackedPairs;
  template <int T>
  using Activations = ShortRows<T>;
  static constexpr std::int64_t kChunkGroups = 15;

  static void unpack(const Packed& packed, std::int64_t g, PairGroup& to) {
    TVLLM_UNROLL
    for (int half = 0; half < 2; ++half) {
      TVLLM_UNROLL
      for (int p = 0; p < 16; ++p) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.pairs[half][p]), packed.pair(g, half, p));
      }
      _mm256_storeu_ps(to.scales + 8 * half, packed.scales(g, half));
    }
  }

  template <int T, typename Reader>
  static TVLLM_INLINE void accumulate(const Reader& reader, const ShortRows<T>& x,
                                      std::int64_t first_group, std::int64_t num_groups,
                                      __m256 (&sums)[T][2]) {
    const std::int16_t* values[T];
    TVLLM_UNROLL
    for (int t = 0; t < T; ++t) {
      values[t] = x.values[t] + first_group * kPanelGroup;
    }
    for (std::int64_t g = 0; g < num_groups; ++g) {
      __m256i dots[T][2];
      TVLLM_UNROLL
      for (int p = 0; p < 16; ++p) {
        const __m256i weights[2] = {reader.pair(g, 0, p), reader.pair(g, 1, p)};
        TVLLM_UNROLL
        for (int t = 0; t < T; ++t) {
          const __m256i two = repeat_word(values[t] + g * kPanelGroup + 2 * p);
          TVLLM_UNROLL
          for (int half = 0; half < 2; ++half) {
            const __m256i products = _mm256_madd_epi16(weights[half], two);
            dots[t][half] = p == 0 ? products : _mm256_add_epi32(dots[t][half], products);
          }
        }
      }
      TVLLM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const __m256 scales = reader.scales(g, half);
        TVLLM_UNROLL
        for (int t = 0; t < T; ++t) {
          sums[t][half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[t][half]), scales, sums[t][half]);
        }
      }
    }
  }
};

}  // namespace

std::size_t pair_scratch_bytes() {
  return PairFormat<BytePanel>::kChunkGroups * sizeof(PairGroup);
}

void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                    std::byte* scratch) {
  if (args.weight->dtype == DType::kQ8_0) {
    multiply_panels<PairFormat<BytePanel>>(args, row_begin, row_end, scratch);
  } else {
    multiply_panels<PairFormat<SixBitPanel>>(args, row_begin, row_end, scratch);
  }
}

}  // namespace tvllm::cpu::avx2
