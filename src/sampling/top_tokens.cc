// SPDX-License-Identifier: Apache-2.0
#include "sampling/top_tokens.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace tvllm::sampling {

float bound_of_nth(std::span<const float> values, std::size_t n, SamplerScratch& scratch) {
  const std::size_t num_blocks = num_max_blocks(values.size());
  if (n > num_blocks) return kNegativeInfinity;
  const std::span<float> maxima(scratch.block_maxima.data(), num_blocks);
  max_blocks(values, maxima);
  const auto nth = maxima.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(maxima.begin(), nth, maxima.end(), std::greater<>());
  return *nth;
}

std::span<RankedToken> select_top(std::span<const float> values, std::size_t n,
                                  SamplerScratch& scratch) {
  TVLLM_DCHECK(n <= values.size(), n, " of ", values.size());
  if (n == 0) return {};
  const float bound = bound_of_nth(values, n, scratch);
  const std::size_t num_candidates = collect_at_least(values, bound, scratch.ids, scratch.values);
  const std::span<RankedToken> ranked(scratch.ranked.data(), num_candidates);
  for (std::size_t i = 0; i < num_candidates; ++i)
    ranked[i] = {scratch.values[i], scratch.ids[i]};
  if (n < num_candidates) {
    std::nth_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end(),
                     ranks_before);
  }
  return ranked.first(n);
}

}  // namespace tvllm::sampling
