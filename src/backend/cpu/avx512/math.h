// SPDX-License-Identifier: Apache-2.0
// Functions of floats, sixteen at a time. Everything has internal linkage.
#pragma once

#include "backend/cpu/avx512/vector.h"

namespace tvllm::cpu::avx512 {

namespace {

// e^x with a relative error below 2e-7, for x from -87.3 to 88; what is beyond counts as the bound.
// A NaN stays one.
//
// 2^n * e^r with |r| <= ln(2)/2; e^r by a polynomial of degree 6 that is 1 at r = 0, with the least
// relative error (1.8e-8, tools/fit_exp.py).
TVLLM_INLINE __m512 exp_of(__m512 x) {
  const auto all = [](float value) { return _mm512_set1_ps(value); };
  // The second operand is the result if one is a NaN.
  x = _mm512_min_ps(all(88.0f), _mm512_max_ps(all(-87.33f), x));
  // Adding 1.5 * 2^23 rounds to an integer; with 127 more the low bits are the exponent of 2^n.
  constexpr float kRound = 12582912.0f + 127.0f;
  const __m512 shifted = _mm512_fmadd_ps(x, all(1.44269504f), all(kRound));
  const __m512 n = _mm512_sub_ps(shifted, all(kRound));
  __m512 r = _mm512_fnmadd_ps(n, all(0.693359375f), x);  // ln(2) in two parts, n times the first
  r = _mm512_fnmadd_ps(n, all(-2.12194440e-4f), r);      // is exact
  __m512 p = _mm512_fmadd_ps(r, all(1.38436188e-3f), all(8.37418437e-3f));
  p = _mm512_fmadd_ps(p, r, all(4.16680053e-2f));
  p = _mm512_fmadd_ps(p, r, all(1.66664302e-1f));
  p = _mm512_fmadd_ps(p, r, all(4.9999994e-1f));
  p = _mm512_fmadd_ps(p, r, all(1.0f));
  p = _mm512_fmadd_ps(p, r, all(1.0f));
  const __m512i power = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
  return _mm512_mul_ps(p, _mm512_castsi512_ps(power));
}

}  // namespace

}  // namespace tvllm::cpu::avx512
