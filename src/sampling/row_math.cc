// SPDX-License-Identifier: Apache-2.0
#include "sampling/row_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tvllm::sampling {

namespace {

// Vectors of the compilers' own kind, which every baseline instruction set has: a plain reduction
// over floats is not vectorized without flags that would change the meaning of NaN and of order.
using Float4 = float __attribute__((vector_size(16)));
using Int4 = std::int32_t __attribute__((vector_size(16)));
using Uint4 = std::uint32_t __attribute__((vector_size(16)));

Float4 load(const float* from) {
  Float4 v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

void store(float* to, Float4 v) {
  std::memcpy(to, &v, sizeof(v));
}

Float4 splat(float x) {
  return Float4{x, x, x, x};
}

Float4 max4(Float4 a, Float4 b) {
  return a > b ? a : b;
}

float max_lane(Float4 v) {
  return std::max(std::max(v[0], v[1]), std::max(v[2], v[3]));
}

bool any_lane(Int4 mask) {
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}

// Four accumulators hide the latency of a vector maximum (4 cycles) at one load a cycle.
constexpr std::size_t kStride = 16;

struct BlockScan {
  float max = kNegativeInfinity;
  bool has_nan = false;
};

BlockScan scan_block(const float* x, std::size_t size) {
  Float4 m0 = splat(kNegativeInfinity);
  Float4 m1 = m0;
  Float4 m2 = m0;
  Float4 m3 = m0;
  Int4 nan = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + kStride <= size; i += kStride) {
    const Float4 a = load(x + i);
    const Float4 b = load(x + i + 4);
    const Float4 c = load(x + i + 8);
    const Float4 d = load(x + i + 12);
    m0 = max4(a, m0);
    m1 = max4(b, m1);
    m2 = max4(c, m2);
    m3 = max4(d, m3);
    nan |= (a != a) | (b != b) | (c != c) | (d != d);
  }
  BlockScan out{max_lane(max4(max4(m0, m1), max4(m2, m3))), any_lane(nan)};
  for (; i < size; ++i) {
    if (x[i] > out.max) out.max = x[i];
    if (std::isnan(x[i])) out.has_nan = true;
  }
  return out;
}

// exp(z) for z <= 0: 2^n * e^r with |r| <= ln(2)/2, and e^r by a polynomial of degree 6 that is 1
// at r = 0. Its coefficients are fitted to the least relative error, 1.8e-8 once rounded to floats
// (tools/fit_exp.py).
Float4 exp_nonpositive(Float4 z) {
  constexpr float kLowest = -87.33654f;  // ln(2^-126): below it the result would be subnormal
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;  // 9 bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Int4 in_range = z > splat(kLowest);
  const Float4 clamped = max4(z, splat(kLowest));
  const Float4 shifted = clamped * kLog2E + kRound;
  const Float4 n = shifted - kRound;
  const Float4 r = (clamped - n * kLn2High) - n * kLn2Low;
  Float4 p = r * 1.38436188e-3f + 8.37418437e-3f;
  p = p * r + 4.16680053e-2f;
  p = p * r + 1.66664302e-1f;
  p = p * r + 4.9999994e-1f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // The low bits of `shifted` hold n; moved to the exponent they multiply by 2^n.
  const Int4 exponent = std::bit_cast<Int4>(std::bit_cast<Uint4>(shifted) << 23);
  const Int4 result = std::bit_cast<Int4>(std::bit_cast<Uint4>(p) + std::bit_cast<Uint4>(exponent));
  return std::bit_cast<Float4>(result & in_range);
}

double sum_of(const float* x, std::size_t size) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= size; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] += static_cast<double>(x[i + lane]);
  }
  for (std::size_t lane = 0; i < size; ++i, ++lane)
    sums[lane] += static_cast<double>(x[i]);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

RowStats scan_row(std::span<const float> logits) {
  // The index of the maximum is looked for in one piece only: the first that raised it.
  constexpr std::size_t kPiece = 1024;
  RowStats stats;
  std::size_t best_begin = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kPiece) {
    const BlockScan scan = scan_block(&logits[begin], std::min(kPiece, logits.size() - begin));
    stats.has_nan |= scan.has_nan;
    if (scan.max > stats.max) {
      stats.max = scan.max;
      best_begin = begin;
    }
  }
  if (!stats.is_valid()) return stats;
  const auto first = logits.begin() + static_cast<std::ptrdiff_t>(best_begin);
  stats.argmax = static_cast<TokenId>(std::find(first, logits.end(), stats.max) - logits.begin());
  return stats;
}

void exp_row(std::span<const float> logits, float max, float scale, std::span<float> weights) {
  const float* x = logits.data();
  float* w = weights.data();
  const std::size_t size = logits.size();
  if (std::isinf(max)) {
    for (std::size_t i = 0; i < size; ++i)
      w[i] = x[i] == max ? 1.0f : 0.0f;
    return;
  }
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4)
    store(w + i, exp_nonpositive((load(x + i) - max) * scale));
  for (; i < size; ++i)
    w[i] = exp_nonpositive((splat(x[i]) - max) * scale)[0];
}

double sum_exp(std::span<const float> logits, float max) {
  std::array<float, kSumBlock> weights{};
  double total = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kSumBlock) {
    const std::size_t size = std::min(kSumBlock, logits.size() - begin);
    exp_row(logits.subspan(begin, size), max, 1.0f, weights);
    total += sum_of(weights.data(), size);
  }
  return total;
}

double sum_blocks(std::span<const float> weights, std::span<double> sums) {
  double total = 0;
  for (std::size_t begin = 0; begin < weights.size(); begin += kSumBlock) {
    const double sum = sum_of(&weights[begin], std::min(kSumBlock, weights.size() - begin));
    sums[begin / kSumBlock] = sum;
    total += sum;
  }
  return total;
}

void max_blocks(std::span<const float> values, std::span<float> maxima) {
  for (std::size_t begin = 0; begin < values.size(); begin += kMaxBlock) {
    maxima[begin / kMaxBlock] =
        scan_block(&values[begin], std::min(kMaxBlock, values.size() - begin)).max;
  }
}

std::size_t collect_at_least(std::span<const float> values, float threshold, std::span<TokenId> ids,
                             std::span<float> kept) {
  const float* x = values.data();
  const Float4 low = splat(threshold);
  std::size_t num_kept = 0;
  const auto take = [&](std::size_t i) {
    ids[num_kept] = static_cast<TokenId>(i);
    kept[num_kept] = x[i];
    num_kept += x[i] >= threshold ? 1 : 0;
  };
  std::size_t i = 0;
  for (; i + kStride <= values.size(); i += kStride) {
    const Float4 highest =
        max4(max4(load(x + i), load(x + i + 4)), max4(load(x + i + 8), load(x + i + 12)));
    if (!any_lane(highest >= low)) continue;
    for (std::size_t j = i; j < i + kStride; ++j)
      take(j);
  }
  for (; i < values.size(); ++i)
    take(i);
  return num_kept;
}

std::size_t count_before(std::span<const float> values, float value, std::size_t idx) {
  const float* x = values.data();
  std::uint32_t num_before = 0;
  for (std::size_t i = 0; i < idx; ++i)
    num_before += x[i] >= value ? 1u : 0u;
  for (std::size_t i = idx; i < values.size(); ++i)
    num_before += x[i] > value ? 1u : 0u;
  return num_before;
}

}  // namespace tvllm::sampling
