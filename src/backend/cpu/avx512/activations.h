// SPDX-License-Identifier: Apache-2.0
// Activations as integers, in two forms.
//
// kBytes, for weights of 4 and 5 bits: 8 bits, with a scale for every 32 columns, as many as share
// a scale in the weights.
//
//   x[c] = scale * value                   value -127 .. 127
//
// kShorts, for weights of 6 and 8 bits (an output head is of them): 14 bits with one scale for a
// token's row.
//
//   x[c] = short_scale * value             value -kLargestShort .. kLargestShort
//
// A group, or a row of shorts, with a NaN or an infinity has scale NaN, so that all results of its
// token are NaN; one of (nearly) zeros has scale 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::cpu::avx512 {

enum ActivationForm : unsigned { kBytes = 1, kShorts = 2 };

// 64 * 127, so that what 8 bits hold exactly is exact here too. With Q6_K, where scale * value is
// up to 128 * 32, a group of 32 sums up to 32 * 4,096 * 8,128 = 1.07e9.
constexpr int kLargestShort = 8128;

// Of 32 columns; the sum is that of scale * value, for the minimum of the weights.
struct GroupFactors {
  float scale;
  float sum;
};

// A quantized row: the header, then if they were asked for std::int8_t[num_cols] and
// GroupFactors[num_cols / 32], then std::int16_t[num_cols]. Rows are an odd number of cache lines
// long: those of a tile then spread over all sets of the nearest cache.
struct alignas(64) RowHeader {
  float short_scale;
};

static_assert(sizeof(GroupFactors) == 8 && sizeof(RowHeader) == 64);

}  // namespace tvllm::cpu::avx512
