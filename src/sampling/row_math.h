// SPDX-License-Identifier: Apache-2.0
// Passes over a whole row of logits or weights, written for the vector unit. The order of every
// summation is fixed, so that a row gives the same bits wherever it is computed. Pure functions.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "base/ids.h"

namespace tvllm::sampling {

inline constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

// What one pass over a row of logits tells.
struct RowStats {
  float max = kNegativeInfinity;
  TokenId argmax = kNoToken;  // the lowest id that has the maximum
  bool has_nan = false;

  // Otherwise nothing can be sampled: a NaN, nothing but -inf, or no logits at all.
  bool is_valid() const { return !has_nan && max > kNegativeInfinity; }
};
RowStats scan_row(std::span<const float> logits);

// weights[i] = exp((logits[i] - max) * scale), where `max` is the maximum of the whole row and
// scale > 0: between 0 and 1. Relative error below 3e-7; what would be subnormal is 0. Where the
// maximum is +inf, its tokens weigh 1 and all others 0: the limit of growing logits.
// REQUIRES: no NaN in `logits`, max > -inf, weights.size() >= logits.size()
void exp_row(std::span<const float> logits, float max, float scale, std::span<float> weights);

// The sum of the weights that exp_row gives, in double precision.
double sum_exp(std::span<const float> logits, float max);

// Sums of consecutive pieces of kSumBlock weights, and their total in order.
inline constexpr std::size_t kSumBlock = 256;
constexpr std::size_t num_sum_blocks(std::size_t size) {
  return (size + kSumBlock - 1) / kSumBlock;
}
// REQUIRES: sums.size() >= num_sum_blocks(weights.size())
double sum_blocks(std::span<const float> weights, std::span<double> sums);

// Maxima of consecutive pieces of kMaxBlock values. REQUIRES: no NaN, room for all of them
inline constexpr std::size_t kMaxBlock = 32;
constexpr std::size_t num_max_blocks(std::size_t size) {
  return (size + kMaxBlock - 1) / kMaxBlock;
}
void max_blocks(std::span<const float> values, std::span<float> maxima);

// Writes the indices and values of all values[i] >= threshold, in order of i; returns how many.
// REQUIRES: no NaN, room for values.size() of them
std::size_t collect_at_least(std::span<const float> values, float threshold, std::span<TokenId> ids,
                             std::span<float> kept);

// How many of `values` stand before one of `value` at index `idx` in the order of descending value,
// then ascending index.
std::size_t count_before(std::span<const float> values, float value, std::size_t idx);

}  // namespace tvllm::sampling
