// SPDX-License-Identifier: Apache-2.0
// A few words over the intrinsics. Everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Loops over the registers of a tile must vanish, or the registers become memory.
#define TVLLM_UNROLL _Pragma("GCC unroll 32")
#define TVLLM_INLINE __attribute__((always_inline)) inline

namespace tvllm::cpu::avx512 {

namespace {

TVLLM_INLINE __m512i load_bytes(const void* p) {
  return _mm512_loadu_si512(p);
}

TVLLM_INLINE __m256i load_half_bytes(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

TVLLM_INLINE __m128i load_quarter_bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}

// 4 bytes, 16 times.
TVLLM_INLINE __m512i repeat_word(const void* p) {
  std::int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm512_set1_epi32(word);
}

// The first `count` lanes, for masked loads and stores.
TVLLM_INLINE __mmask16 first_lanes(std::int64_t count) {
  return count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1u);
}

TVLLM_INLINE __m256 low_half(__m512 v) {
  return _mm512_castps512_ps256(v);
}

TVLLM_INLINE __m256 high_half(__m512 v) {
  return _mm512_extractf32x8_ps(v, 1);
}

TVLLM_INLINE float sum_lanes(__m512 v) {
  const __m256 eight = _mm256_add_ps(low_half(v), high_half(v));
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

TVLLM_INLINE float max_lanes(__m512 v) {
  const __m256 eight = _mm256_max_ps(low_half(v), high_half(v));
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

}  // namespace

}  // namespace tvllm::cpu::avx512
