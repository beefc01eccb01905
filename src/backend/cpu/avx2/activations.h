// SPDX-License-Identifier: Apache-2.0
// Activations as integers, in two forms. Both have one fp32 scale for a token's row, so that sums
// over groups stay free of it until the end.
//
// kBytes, for weights of 4 and 5 bits: 8 bits, and for every 16 columns a multiplier that makes up
// for the missing scales:
//
//   x[c] = scale * multiplier * value      value -127 .. 127, multiplier 1 .. kLargestMultiplier
//
// The multiplier is applied to integer sums, where it costs nothing: products of bytes are summed
// in 16 bits and brought to 32 bits by a multiply-add, which would multiply by 1 otherwise. So the
// values are as fine as with an fp32 scale for 16 columns.
//
// kShorts, for weights of 6 and 8 bits, whose products of bytes would not fit 16 bits: 14 bits.
//
//   x[c] = scale * value                   value -kLargestShort .. kLargestShort
//
// A row with a NaN or an infinity has scale NaN, so that all its results are NaN; a row of (nearly)
// zeros has scale 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::cpu::avx2 {

enum ActivationForm : unsigned { kBytes = 1, kShorts = 2 };

// With 5-bit weights a group of 32 sums up to 32 * 31 * 127 * 8,192 = 1.03e9.
constexpr int kLargestMultiplier = 8192;

// 64 * 127, so that what 8 bits hold exactly is exact here too. With Q6_K, where scale * value is
// up to 128 * 32, a group of 32 sums up to 32 * 4,096 * 8,128 = 1.07e9.
constexpr int kLargestShort = 8128;

struct ByteGroup {
  std::int8_t values[32];
  // Of the first and the last 16 columns, in both halves of the word.
  std::int32_t multipliers[2];
  float sum;  // of multiplier * value, for the minimum of the weights
};

// A quantized row: the header, then ByteGroup[num_cols / 32] and std::int16_t[num_cols], each if
// it was asked for.
struct RowHeader {
  float byte_scale;
  float short_scale;
  float unused[2];
};

static_assert(sizeof(ByteGroup) == 44 && sizeof(RowHeader) == 16);

}  // namespace tvllm::cpu::avx2
