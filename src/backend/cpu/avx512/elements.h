// SPDX-License-Identifier: Apache-2.0
// Sixteen elements of a type that memory holds, as floats. Everything has internal linkage.
#pragma once

#include "backend/cpu/avx512/vector.h"

namespace tvllm::cpu::avx512 {

namespace {

struct Singles {
  using Element = float;
  static TVLLM_INLINE __m512 load(const float* p) { return _mm512_loadu_ps(p); }
  static TVLLM_INLINE __m512 load(const float* p, __mmask16 lanes) {
    return _mm512_maskz_loadu_ps(lanes, p);
  }
};

struct Halves {
  using Element = std::uint16_t;
  static TVLLM_INLINE __m512 load(const std::uint16_t* p) {
    return _mm512_cvtph_ps(load_half_bytes(p));
  }
  static TVLLM_INLINE __m512 load(const std::uint16_t* p, __mmask16 lanes) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, p));
  }
};

struct BrainHalves {
  using Element = std::uint16_t;
  static TVLLM_INLINE __m512 widen(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static TVLLM_INLINE __m512 load(const std::uint16_t* p) { return widen(load_half_bytes(p)); }
  static TVLLM_INLINE __m512 load(const std::uint16_t* p, __mmask16 lanes) {
    return widen(_mm256_maskz_loadu_epi16(lanes, p));
  }
};

}  // namespace

}  // namespace tvllm::cpu::avx512
