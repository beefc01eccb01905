// SPDX-License-Identifier: Apache-2.0
// Products of bytes without VNNI.
//
// vpmaddubsw multiplies unsigned bytes with signed ones and adds neighbours in 16 bits, saturating;
// here nothing ever saturates: a lane, after 4 quads, is at most 4 * 2 * 31 * 127 = 31,496.
#include "backend/cpu/avx512/quad_matmul.h"

#include "backend/cpu/avx512/kernels.h"

namespace tvllm::cpu::avx512 {

namespace {

struct SixteenBitDots {
  template <int P>
  static TVLLM_INLINE void multiply(const __m512i (&weights)[P][kQuads], const std::byte* x,
                                    __m512i (&dots)[P]) {
    const __m512i ones = _mm512_set1_epi16(1);
    TVLLM_UNROLL
    for (int part = 0; part < 2; ++part) {
      __m512i lanes[P];
      TVLLM_UNROLL
      for (int q = 0; q < 4; ++q) {
        const __m512i values = repeat_word(x + 16 * part + 4 * q);
        TVLLM_UNROLL
        for (int p = 0; p < P; ++p) {
          const __m512i products = _mm512_maddubs_epi16(weights[p][4 * part + q], values);
          lanes[p] = q == 0 ? products : _mm512_add_epi16(lanes[p], products);
        }
      }
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        const __m512i sums = _mm512_madd_epi16(lanes[p], ones);
        dots[p] = part == 0 ? sums : _mm512_add_epi32(dots[p], sums);
      }
    }
  }
};

}  // namespace

void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  multiply_quad_panels<SixteenBitDots>(args, row_begin, row_end);
}

}  // namespace tvllm::cpu::avx512
