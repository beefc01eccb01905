// SPDX-License-Identifier: Apache-2.0
// Products of bytes and of 16 bits with VNNI: multiplied and added in 32 bits by one instruction.
// The integers are exact and the floats those of avx512, so the bits are too.
#include "backend/cpu/avx512/pair_matmul.h"
#include "backend/cpu/avx512/quad_matmul.h"
#include "backend/cpu/avx512_vnni/kernels.h"

namespace tvllm::cpu::avx512_vnni {

namespace {

struct QuadDots {
  template <int P>
  static TVLLM_INLINE void multiply(const __m512i (&weights)[P][avx512::kQuads], const std::byte* x,
                                    __m512i (&dots)[P]) {
    TVLLM_UNROLL
    for (int q = 0; q < avx512::kQuads; ++q) {
      const __m512i values = avx512::repeat_word(x + 4 * q);
      TVLLM_UNROLL
      for (int p = 0; p < P; ++p) {
        dots[p] =
            _mm512_dpbusd_epi32(q == 0 ? _mm512_setzero_si512() : dots[p], weights[p][q], values);
      }
    }
  }
};

struct PairDots {
  static TVLLM_INLINE __m512i add(__m512i sums, __m512i a, __m512i b) {
    return _mm512_dpwssd_epi32(sums, a, b);
  }
};

}  // namespace

void multiply_quads(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  avx512::multiply_quad_panels<QuadDots>(args, row_begin, row_end);
}

void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  avx512::multiply_pair_panels<PairDots>(args, row_begin, row_end);
}

}  // namespace tvllm::cpu::avx512_vnni
