// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tvllm::kv_cache {

// The KV groups of a model and how many blocks a sequence has in each: what sizes follow from.
//
//   window 0     all positions stay
//   window w     a token sees the last w positions, itself included; blocks that lie before them
//                are given back
//
// All groups take their blocks from one pool, since their blocks have one size. Pure functions.
struct GroupLayout {
  std::int32_t num_groups = 1;
  std::vector<std::int32_t> windows = {};  // [num_groups], the first 0; empty: no group has one
  std::int32_t block_size = 16;
  // Of one sequence, planned and not known to be computed: what they see must stay, too.
  std::int32_t max_tokens_in_flight = 0;

  std::int32_t window(std::int32_t group) const {
    return windows.empty() ? 0 : windows[static_cast<std::size_t>(group)];
  }
  std::int32_t num_full_groups() const;

  // The number of the first block that the token at `position` sees.
  std::int64_t first_block_seen(std::int32_t group, std::int64_t position) const;

  // The most blocks that a sequence has at a time on its way to `num_tokens`: of one group, of all.
  std::int64_t num_blocks_of_group(std::int32_t group, std::int64_t num_tokens) const;
  std::int64_t num_blocks_for_tokens(std::int64_t num_tokens) const;

  // The longest sequence that fits so many blocks.
  std::int64_t max_num_tokens(std::int64_t num_blocks) const;
};

}  // namespace tvllm::kv_cache
