// SPDX-License-Identifier: Apache-2.0
// The two 16-bit floats as bit patterns, and their conversions. g++ 12 knows _Float16 on x86-64 and
// clang 14 does not, so the conversions are written out; loops over them vectorize.
//
// The functions have internal linkage, because units that are compiled for a wider instruction set
// include this header: an inline function of theirs could replace everybody's when linked.
#pragma once

#include <cstdint>

namespace tvllm {

// IEEE binary16 to binary32, exact. A NaN keeps its payload.
static inline float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  // The exponent moves from bias 15 to bias 127 by a multiplication, which also normalizes
  // subnormal halves.
  const float rebiased = __builtin_bit_cast(float, magnitude) * 0x1.0p112f;
  const bool special = (half & 0x7c00u) == 0x7c00u;  // infinity or NaN
  const std::uint32_t bits =
      special ? magnitude | 0x7f800000u : __builtin_bit_cast(std::uint32_t, rebiased);
  return __builtin_bit_cast(float, bits | sign);
}

// binary32 to binary16, to nearest, ties to even; what rounds past 65504 is infinite. A NaN stays
// one.
static inline std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520, halfway between 65504 and the next power of two
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // 2^-14: the result is subnormal
    // One unit in the last place of 0.5f is the subnormal's unit, 2^-24: the addition rounds.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    half = __builtin_bit_cast(std::uint32_t, shifted) - __builtin_bit_cast(std::uint32_t, 0.5f);
  } else {
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    half = (magnitude + 0xfffu + odd - (112u << 23)) >> 13;
  }
  return static_cast<std::uint16_t>(half | sign);
}

// bfloat16 to binary32, exact.
static inline float bf16_to_f32(std::uint16_t bf16) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bf16) << 16);
}

// binary32 to bfloat16, to nearest, ties to even. A NaN stays one.
static inline std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
}

}  // namespace tvllm
