// SPDX-License-Identifier: Apache-2.0
// Functions of floats, eight at a time. Everything has internal linkage.
#pragma once

#include "backend/cpu/avx2/vector.h"

namespace tvllm::cpu::avx2 {

namespace {

// e^x with a relative error below 2e-7, for x from -87.3 to 88; what is beyond counts as the bound.
// A NaN stays one.
//
// 2^n * e^r with |r| <= ln(2)/2; e^r by a polynomial of degree 6 that is 1 at r = 0, with the least
// relative error (1.8e-8, tools/fit_exp.py).
TVLLM_INLINE __m256 exp_of(__m256 x) {
  const auto all = [](float value) { return _mm256_set1_ps(value); };
  // The second operand is the result if one is a NaN.
  x = _mm256_min_ps(all(88.0f), _mm256_max_ps(all(-87.33f), x));
  // Adding 1.5 * 2^23 rounds to an integer; with 127 more the low bits are the exponent of 2^n.
  constexpr float kRound = 12582912.0f + 127.0f;
  const __m256 shifted = _mm256_fmadd_ps(x, all(1.44269504f), all(kRound));
  const __m256 n = _mm256_sub_ps(shifted, all(kRound));
  __m256 r = _mm256_fnmadd_ps(n, all(0.693359375f), x);  // ln(2) in two parts, n times the first
  r = _mm256_fnmadd_ps(n, all(-2.12194440e-4f), r);      // is exact
  __m256 p = _mm256_fmadd_ps(r, all(1.38436188e-3f), all(8.37418437e-3f));
  p = _mm256_fmadd_ps(p, r, all(4.16680053e-2f));
  p = _mm256_fmadd_ps(p, r, all(1.66664302e-1f));
  p = _mm256_fmadd_ps(p, r, all(4.9999994e-1f));
  p = _mm256_fmadd_ps(p, r, all(1.0f));
  p = _mm256_fmadd_ps(p, r, all(1.0f));
  const __m256i power = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
  return _mm256_mul_ps(p, _mm256_castsi256_ps(power));
}

}  // namespace

}  // namespace tvllm::cpu::avx2
