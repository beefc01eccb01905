// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "bench/machine_peak/loops.h"

namespace tvllm::bench {

std::int64_t multiply_bytes_avx2(std::int64_t num_iterations) {
  __m256i sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) {
    sums[i] = _mm256_set1_epi16(static_cast<short>(i));
  }
  const __m256i weights = _mm256_set1_epi8(3);
  const __m256i values = _mm256_set1_epi8(-1);
  for (std::int64_t n = 0; n < num_iterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      // In assembly, since a compiler computes the same product only once.
      __m256i products;
      asm volatile("vpmaddubsw %2, %3, %1\n\tvpaddw %1, %0, %0"
                   : "+x"(sums[i]), "=&x"(products)
                   : "x"(values), "x"(weights));
    }
  }
  std::int64_t total = 0;
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) {
    total += _mm256_extract_epi16(sums[i], 0);
  }
  return total;
}

float multiply_floats_avx2(std::int64_t num_iterations) {
  __m256 sums[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) {
    sums[i] = _mm256_set1_ps(static_cast<float>(i));
  }
  __m256 factor = _mm256_set1_ps(0.999f);
  for (std::int64_t n = 0; n < num_iterations; ++n) {
    asm volatile("" : "+x"(factor));
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      sums[i] = _mm256_fmadd_ps(sums[i], factor, factor);
    }
  }
  float total = 0.0f;
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) {
    total += _mm256_cvtss_f32(sums[i]);
  }
  return total;
}

}  // namespace tvllm::bench
