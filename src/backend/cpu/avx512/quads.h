// SPDX-License-Identifier: Apache-2.0
// Readers of weights of 4 and 5 bits: group g of a panel as unsigned bytes 0 .. 31 in quads of all
// 16 rows, with its scales and minimums. Everything has internal linkage.
#pragma once

#include "backend/cpu/avx512/vector.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu::avx512 {

namespace {

TVLLM_INLINE __m512 halves_to_floats(const std::uint16_t* halves) {
  return _mm512_cvtph_ps(load_half_bytes(halves));
}

TVLLM_INLINE __m512 bytes_to_floats(const std::uint8_t* bytes) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(load_quarter_bytes(bytes)));
}

template <typename Group>
TVLLM_INLINE __m512i nibbles_of(const Group& group, int quad) {
  const __m512i both = load_bytes(group.nibbles[quad % 4]);
  const __m512i mine = quad < 4 ? both : _mm512_srli_epi16(both, 4);
  return _mm512_and_si512(mine, _mm512_set1_epi8(0x0f));
}

template <typename Group>
TVLLM_INLINE __m512i five_bits_of(const Group& group, int quad) {
  const __m512i bits = load_bytes(group.fifths);
  const __m512i moved = quad < 4 ? _mm512_slli_epi16(bits, static_cast<unsigned>(4 - quad))
                                 : _mm512_srli_epi16(bits, static_cast<unsigned>(quad - 4));
  return _mm512_or_si512(nibbles_of(group, quad), _mm512_and_si512(moved, _mm512_set1_epi8(0x10)));
}

// Panel structs differ in what they have: fifth bits or not, minimums or an offset.
template <typename Panel, bool has_fifths, bool has_mins, int offset>
class SmallPanel {
 public:
  SmallPanel(const WeightPart& weight, std::int64_t panel)
      : groups_(reinterpret_cast<const Panel*>(weight.packed) +
                panel * (weight.num_cols / kPanelGroup)) {}

  TVLLM_INLINE __m512i quad(std::int64_t g, int quad) const {
    if constexpr (has_fifths) {
      return five_bits_of(groups_[g], quad);
    } else {
      return nibbles_of(groups_[g], quad);
    }
  }
  TVLLM_INLINE __m512 scales(std::int64_t g) const { return halves_to_floats(groups_[g].scales); }
  TVLLM_INLINE __m512 mins(std::int64_t g) const {
    if constexpr (has_mins) {
      return halves_to_floats(groups_[g].mins);
    } else {
      return _mm512_mul_ps(scales(g), _mm512_set1_ps(-static_cast<float>(offset)));
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

  TVLLM_INLINE __m512i quad(std::int64_t g, int quad) const {
    if constexpr (has_fifths) {
      return five_bits_of(group(g), quad);
    } else {
      return nibbles_of(group(g), quad);
    }
  }
  TVLLM_INLINE __m512 scales(std::int64_t g) const {
    return _mm512_mul_ps(halves_to_floats(blocks_[g / kSuperGroups].d),
                         bytes_to_floats(group(g).scales));
  }
  TVLLM_INLINE __m512 mins(std::int64_t g) const {
    const __m512 dmin = halves_to_floats(blocks_[g / kSuperGroups].dmin);
    return _mm512_mul_ps(_mm512_sub_ps(_mm512_setzero_ps(), dmin), bytes_to_floats(group(g).mins));
  }

 private:
  TVLLM_INLINE const typename Panel::Group& group(std::int64_t g) const {
    return blocks_[g / kSuperGroups].groups[g % kSuperGroups];
  }
  const Panel* blocks_;
};

using PackedQ4_0 = SmallPanel<PanelQ4_0, false, false, 8>;
using PackedQ4_1 = SmallPanel<PanelQ4_1, false, true, 0>;
using PackedQ5_0 = SmallPanel<PanelQ5_0, true, false, 16>;
using PackedQ5_1 = SmallPanel<PanelQ5_1, true, true, 0>;
using PackedQ4_K = SuperPanel<PanelQ4_K, false>;
using PackedQ5_K = SuperPanel<PanelQ5_K, true>;

}  // namespace

}  // namespace tvllm::cpu::avx512
