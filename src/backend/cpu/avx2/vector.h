// SPDX-License-Identifier: Apache-2.0
// A few words over the intrinsics. Everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Loops over the registers of a tile must vanish, or the registers become memory.
#define TVLLM_UNROLL _Pragma("GCC unroll 16")
#define TVLLM_INLINE __attribute__((always_inline)) inline

namespace tvllm::cpu::avx2 {

namespace {

TVLLM_INLINE __m256i load_bytes(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

TVLLM_INLINE __m128i load_half_bytes(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}

// 4 bytes, 8 times.
TVLLM_INLINE __m256i repeat_word(const void* p) {
  std::int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm256_set1_epi32(word);
}

// The first `count` lanes, for masked loads and stores.
TVLLM_INLINE __m256i first_lanes(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

TVLLM_INLINE float sum_lanes(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

TVLLM_INLINE float max_lanes(__m256 v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

}  // namespace

}  // namespace tvllm::cpu::avx2
