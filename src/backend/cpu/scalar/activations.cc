// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/scalar/activations.h"

#include <algorithm>
#include <limits>

namespace tvllm::cpu::scalar {

namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000u;

// Below this a group counts as zeros: 127 / largest would not be finite.
constexpr float kLeastLargest = 0x1.0p-100f;

// 1.5 * 2^23: adding it leaves a float no bits after the point, so the addition rounds to the
// nearest integer, ties to even.
constexpr float kRounder = 12582912.0f;

// The bits of the largest magnitude. Those of infinity and of NaNs are larger than all others.
std::uint32_t largest_magnitude_bits(const float* x) {
  std::uint32_t largest = 0;
  for (int i = 0; i < kActivationGroup; ++i) {
    largest = std::max(largest, __builtin_bit_cast(std::uint32_t, x[i]) & 0x7fffffffu);
  }
  return largest;
}

void quantize_group(const float* x, float& scale, float& sum, std::int16_t* values) {
  const std::uint32_t bits = largest_magnitude_bits(x);
  const float largest = __builtin_bit_cast(float, bits);
  if (bits >= kInfinityBits || largest < kLeastLargest) {
    scale = sum = bits >= kInfinityBits ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
    std::fill_n(values, kActivationGroup, std::int16_t{0});
    return;
  }
  scale = largest / 127.0f;
  const float inverse = 127.0f / largest;
  int total = 0;
  for (int i = 0; i < kActivationGroup; ++i) {
    const float rounded = x[i] * inverse + kRounder - kRounder;
    const auto value = static_cast<std::int16_t>(static_cast<int>(rounded));
    values[i] = value;
    total += value;
  }
  sum = scale * static_cast<float>(total);
}

std::size_t num_groups(std::int64_t num_cols) {
  return static_cast<std::size_t>(num_cols / kActivationGroup);
}

}  // namespace

std::size_t quantized_row_bytes(std::int64_t num_cols) {
  return 2 * num_groups(num_cols) * sizeof(float) +
         static_cast<std::size_t>(num_cols) * sizeof(std::int16_t);
}

ActivationRow activation_row(const std::byte* row, std::int64_t num_cols) {
  const float* scales = reinterpret_cast<const float*>(row);
  const float* sums = scales + num_groups(num_cols);
  return {scales, sums, reinterpret_cast<const std::int16_t*>(sums + num_groups(num_cols))};
}

void quantize_rows(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                   std::int64_t num_cols, std::byte* out) {
  const std::size_t groups = num_groups(num_cols);
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const float* from = x + row * x_stride;
    float* scales = reinterpret_cast<float*>(out);
    float* sums = scales + groups;
    std::int16_t* values = reinterpret_cast<std::int16_t*>(sums + groups);
    for (std::size_t g = 0; g < groups; ++g) {
      quantize_group(from + g * kActivationGroup, scales[g], sums[g],
                     values + g * kActivationGroup);
    }
    out += quantized_row_bytes(num_cols);
  }
}

}  // namespace tvllm::cpu::scalar
