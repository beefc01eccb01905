// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx512/pair_matmul.h"

#include "backend/cpu/avx512/kernels.h"

namespace tvllm::cpu::avx512 {

namespace {

struct MultiplyThenAdd {
  static TVLLM_INLINE __m512i add(__m512i sums, __m512i a, __m512i b) {
    return _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
  }
};

}  // namespace

void multiply_pairs(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  multiply_pair_panels<MultiplyThenAdd>(args, row_begin, row_end);
}

}  // namespace tvllm::cpu::avx512
