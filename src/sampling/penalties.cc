// SPDX-License-Identifier: Apache-2.0
#include "sampling/penalties.h"

#include <algorithm>
#include <bit>

namespace tvllm::sampling {

void TokenCounts::reset(std::size_t max_distinct) {
  entries_.clear();
  entries_.reserve(max_distinct);
  rebuild_index(max_distinct);
}

TokenCounts::Entry& TokenCounts::entry_of(TokenId id) {
  if (2 * (entries_.size() + 1) > index_.size()) rebuild_index(2 * (entries_.size() + 1));
  std::int32_t* slot = find_slot(id);
  if (*slot == kEmpty) {
    *slot = static_cast<std::int32_t>(entries_.size());
    entries_.push_back({id, 0});
  }
  return entries_[static_cast<std::size_t>(*slot)];
}

std::int32_t* TokenCounts::find_slot(TokenId id) {
  // Fibonacci hashing: neighbouring ids spread over the table.
  const std::size_t mask = index_.size() - 1;
  std::size_t at = (static_cast<std::uint32_t>(id) * std::uint64_t{0x9E3779B97F4A7C15}) >> 32;
  for (at &= mask; index_[at] != kEmpty; at = (at + 1) & mask) {
    if (entries_[static_cast<std::size_t>(index_[at])].id == id) break;
  }
  return &index_[at];
}

void TokenCounts::rebuild_index(std::size_t max_distinct) {
  index_.assign(std::bit_ceil(std::max<std::size_t>(16, 2 * max_distinct)), kEmpty);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    *find_slot(entries_[i].id) = static_cast<std::int32_t>(i);
}

float penalized(float logit, std::int32_t num_output, const Penalties& penalties) {
  logit = logit > 0 ? logit / penalties.repetition : logit * penalties.repetition;
  if (num_output > 0) {
    logit -= penalties.frequency * static_cast<float>(num_output);
    logit -= penalties.presence;
  }
  return logit;
}

}  // namespace tvllm::sampling
