// SPDX-License-Identifier: Apache-2.0
// Activations as the quantized algorithm sees them: integers of 8 bits in short groups along a
// token's row, each group with its own fp32 scale.
//
//   x[c] = scales[c / kActivationGroup] * values[c]     -127 .. 127, to nearest, ties to even
//
// Scales are never rounded to half precision. A weight's minimum multiplies `sums`, which are sums
// of the quantized values: a sum of the exact ones would let the error of `scale * q` stand alone,
// which is the larger since q is one-sided.
//
// A group with a NaN or an infinity gets the scale NaN, so that every result of its token is NaN
// and no other token's is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::cpu::scalar {

// 16 or 32: quantized rows are whole multiples of both. Over the 2,456 reference positions of
// SmolLM2-135M Q4_1 the mean difference of log-probabilities from fp32 is 0.0646 with 32, which is
// llama.cpp's figure too, and 0.0488 with 16.
inline constexpr int kActivationGroup = 16;

// One token's row: scales, then sums, then values. The integers stand as 16 bits, as in matmul.cc.
struct ActivationRow {
  const float* scales;  // [num_cols / kActivationGroup]
  const float* sums;    // the same: scale * sum of the group's values
  const std::int16_t* values;
};

std::size_t quantized_row_bytes(std::int64_t num_cols);
ActivationRow activation_row(const std::byte* row, std::int64_t num_cols);

// REQUIRES: num_cols a multiple of kActivationGroup
void quantize_rows(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                   std::int64_t num_cols, std::byte* out);

}  // namespace tvllm::cpu::scalar
