// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tvllm::sampling {

// The random number in [0, 1), 53 bits, that decides output `output_idx` of choice `choice_index`:
// Philox with the seed as key and (output_idx, choice_index, 0, 0) as counter. The mapping is one
// to one, so no two choices, positions or seeds share a number by construction, and none depends on
// the batch, the thread or how often a sequence was preempted. The last two words of the counter
// are kept for other uses.
double uniform_at(std::uint64_t seed, std::uint32_t choice_index, std::int32_t output_idx);

// The index whose interval of the cumulative sum of `weights`, in order of index, holds
// `uniform` times the total. Sums are in double precision; where rounding leaves the number past
// the end, the last index with a weight. Never an index of weight 0.
// REQUIRES: weights >= 0, one of them > 0; block_sums has room for num_sum_blocks(weights.size())
std::size_t draw_index(std::span<const float> weights, double uniform,
                       std::span<double> block_sums);

}  // namespace tvllm::sampling
