// SPDX-License-Identifier: Apache-2.0
#include "sampling/random_draw.h"

#include <algorithm>

#include "base/philox.h"
#include "sampling/row_math.h"

namespace tvllm::sampling {

double uniform_at(std::uint64_t seed, std::uint32_t choice_index, std::int32_t output_idx) {
  const auto words =
      philox4x32({static_cast<std::uint32_t>(output_idx), choice_index, 0, 0},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1.0p-53;
}

std::size_t draw_index(std::span<const float> weights, double uniform,
                       std::span<double> block_sums) {
  const double target = uniform * sum_blocks(weights, block_sums);
  // The first block that carries the sum past the target, else the last that has any weight.
  const std::size_t num_blocks = num_sum_blocks(weights.size());
  double before = 0;
  double reached = 0;
  std::size_t block = 0;
  for (std::size_t b = 0; b < num_blocks && reached <= target; ++b) {
    if (block_sums[b] <= 0) continue;
    block = b;
    before = reached;
    reached += block_sums[b];
  }
  const std::size_t begin = block * kSumBlock;
  const std::size_t end = std::min(weights.size(), begin + kSumBlock);
  std::size_t last = begin;
  for (std::size_t i = begin; i < end; ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    before += static_cast<double>(weights[i]);
    if (before > target) break;
  }
  return last;
}

}  // namespace tvllm::sampling
