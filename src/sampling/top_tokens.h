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

// A value that at least `n` of `values` reach, and seldom many more: the n-th largest of the maxima
// of blocks of 32; -inf where n exceeds the number of blocks. Uses scratch.block_maxima.
// REQUIRES: no NaN in `values`, n >= 1, scratch reserved for values.size()
float bound_of_nth(std::span<const float> values, std::size_t n, SamplerScratch& scratch);

// The `n` first tokens of the row in that order, unsorted, in scratch.ranked. Without a sort of the
// row: only what reaches bound_of_nth is looked at. Uses scratch.ids, values, block_maxima.
// REQUIRES: no NaN in `values`, n <= values.size(), scratch reserved for values.size()
std::span<RankedToken> select_top(std::span<const float> values, std::size_t n,
                                  SamplerScratch& scratch);

}  // namespace tvllm::sampling
