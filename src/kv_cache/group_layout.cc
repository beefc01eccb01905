// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/group_layout.h"

#include <algorithm>

namespace tvllm::kv_cache {

namespace {

std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

std::int32_t GroupLayout::num_full_groups() const {
  const auto num_limited =
      std::count_if(windows.begin(), windows.end(), [](std::int32_t w) { return w > 0; });
  return num_groups - static_cast<std::int32_t>(num_limited);
}

std::int64_t GroupLayout::first_block_seen(std::int32_t group, std::int64_t position) const {
  if (window(group) == 0) return 0;
  return std::max<std::int64_t>(position + 1 - window(group), 0) / block_size;
}

// A window and what is in flight behind it may begin and end inside a block.
std::int64_t GroupLayout::num_blocks_of_group(std::int32_t group, std::int64_t num_tokens) const {
  const std::int64_t all = ceil_div(num_tokens, block_size);
  if (window(group) == 0) return all;
  const std::int64_t num_seen = std::int64_t{window(group)} - 1 + max_tokens_in_flight;
  return std::min(all, ceil_div(num_seen, block_size) + 1);
}

std::int64_t GroupLayout::num_blocks_for_tokens(std::int64_t num_tokens) const {
  std::int64_t num_blocks = 0;
  for (std::int32_t group = 0; group < num_groups; ++group) {
    num_blocks += num_blocks_of_group(group, num_tokens);
  }
  return num_blocks;
}

std::int64_t GroupLayout::max_num_tokens(std::int64_t num_blocks) const {
  std::int64_t fits = 0;  // in blocks of one group
  std::int64_t exceeds = num_blocks / std::max(num_full_groups(), 1) + 1;
  while (exceeds - fits > 1) {
    const std::int64_t middle = fits + (exceeds - fits) / 2;
    (num_blocks_for_tokens(middle * block_size) <= num_blocks ? fits : exceeds) = middle;
  }
  return fits * block_size;
}

}  // namespace tvllm::kv_cache
