// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"
#include "sampling/scratch.h"

namespace tvllm::sampling {

// The order of tokens everywhere in this room: higher value first, then lower id.
inline bool ranks_before(RankedToken a, RankedToken b) {
  return a.value != b.value ? a.value > b.value : a.id < b.id;
}

// The `n` first tokens of the row in that order, unsorted, in scratch.ranked. Without a sort of the
// row: the n-th largest of the maxima of blocks of 32 is a lower bound of the n-th largest value,
// and few values lie above it. Uses scratch.ids, values, block_maxima.
// REQUIRES: no NaN in `values`, n <= values.size(), scratch reserved for values.size()
std::span<RankedToken> select_top(std::span<const float> values, std::size_t n,
                                  SamplerScratch& scratch);

}  // namespace tvllm::sampling
