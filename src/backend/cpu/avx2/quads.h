// SPDX-License-Identifier: Apache-2.0
// Readers of weights of 4 and 5 bits: group g of a panel as unsigned bytes 0 .. 31 in quads, with
// its scales and minimums. Everything has internal linkage.
#pragma once

#include "backend/cpu/avx2/vector.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu::avx2 {

namespace {

TVLLM_INLINE __m256 halves_to_floats(const std::uint16_t* halves) {
  return _mm256_cvtph_ps(load_half_bytes(halves));
}

TVLLM_INLINE __m256 bytes_to_floats(const std::uint8_t* bytes) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
}

template <typename Group>
TVLLM_INLINE __m256i nibbles_of(const Group& group, int half, int quad) {
  const __m256i both = load_bytes(group.nibbles[quad % 4][half]);
  const __m256i mine = quad < 4 ? both : _mm256_srli_epi16(both, 4);
  return _mm256_and_si256(mine, _mm256_set1_epi8(0x0f));
}

template <typename Group>
TVLLM_INLINE __m256i five_bits_of(const Group& group, int half, int quad) {
  const __m256i bits = load_bytes(group.fifths[half]);
  const __m256i moved =
      quad < 4 ? _mm256_slli_epi16(bits, 4 - quad) : _mm256_srli_epi16(bits, quad - 4);
  return _mm256_or_si256(nibbles_of(group, half, quad),
                         _mm256_and_si256(moved, _mm256_set1_epi8(0x10)));
}

// Panel structs differ in what they have: fifth bits or not, minimums or an offset.
template <typename Panel, bool has_fifths, bool has_mins, int offset>
class SmallPanel {
 public:
  SmallPanel(const WeightPart& weight, std::int64_t panel)
      : groups_(reinterpret_cast<const Panel*>(weight.packed) +
                panel * (weight.num_cols / kPanelGroup)) {}

  TVLLM_INLINE __m256i quad(std::int64_t g, int half, int quad) const {
    if constexpr (has_fifths) {
      return five_bits_of(groups_[g], half, quad);
    } else {
      return nibbles_of(groups_[g], half, quad);
    }
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return halves_to_floats(groups_[g].scales + 8 * half);
  }
  TVLLM_INLINE __m256 mins(std::int64_t g, int half) const {
    if constexpr (has_mins) {
      return halves_to_floats(groups_[g].mins + 8 * half);
    } else {
      return _mm256_mul_ps(scales(g, half), _mm256_set1_ps(-static_cast<float>(offset)));
    }
  }

 private:
  const Panel* groups_;
};

template <typename Panel, bool has_fifths>
class SuperPanel {
 public:
  SuperPanel(const WeightPart& weight, std::int64_t panel)
      : blocks_(reinterpret_cast<const Panel*>(weight.packed) +
                panel * (weight.num_cols / (kPanelGroup * kSuperGroups))) {}

  TVLLM_INLINE __m256i quad(std::int64_t g, int half, int quad) const {
    if constexpr (has_fifths) {
      return five_bits_of(group(g), half, quad);
    } else {
      return nibbles_of(group(g), half, quad);
    }
  }
  TVLLM_INLINE __m256 scales(std::int64_t g, int half) const {
    return _mm256_mul_ps(halves_to_floats(blocks_[g / kSuperGroups].d + 8 * half),
                         bytes_to_floats(group(g).scales + 8 * half));
  }
  TVLLM_INLINE __m256 mins(std::int64_t g, int half) const {
    const __m256 dmin = halves_to_floats(blocks_[g / kSuperGroups].dmin + 8 * half);
    return _mm256_mul_ps(_mm256_sub_ps(_mm256_setzero_ps(), dmin),
                         bytes_to_floats(group(g).mins + 8 * half));
  }
  const char* address_of(std::int64_t g) const { return reinterpret_cast<const char*>(&group(g)); }

 private:
  TVLLM_INLINE const typename Panel::Group& group(std::int64_t g) const {
    return blocks_[g / kSuperGroups].groups[g % kSuperGroups];
  }
  const Panel* blocks_;
};

}  // namespace

}  // namespace tvllm::cpu::avx2
