// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sampling/row_math.h"

namespace tvllm::sampling {

struct RankedToken {
  float value = 0.0f;
  TokenId id = kNoToken;
};

// Working memory of sampling: about 30 bytes a vocabulary entry. One for each worker that samples;
// nothing in it outlives a call. Sized once, so that sampling allocates nothing.
struct SamplerScratch {
  explicit SamplerScratch(std::size_t vocab_size) { reserve(vocab_size); }

  // Grows to rows of `vocab_size`; a smaller one changes nothing.
  void reserve(std::size_t vocab_size) {
    if (vocab_size <= weights.size()) return;
    weights.resize(vocab_size);
    ids.resize(vocab_size);
    values.resize(vocab_size);
    ranked.resize(vocab_size);
    block_sums.resize(num_sum_blocks(vocab_size));
    block_maxima.resize(num_max_blocks(vocab_size));
    edits.reserve(vocab_size);
  }

  std::vector<float> weights;
  std::vector<TokenId> ids;
  std::vector<float> values;
  std::vector<RankedToken> ranked;
  std::vector<double> block_sums;
  std::vector<float> block_maxima;
  std::vector<std::pair<TokenId, float>> edits;  // logits before they were changed

  // Histogram of weights by the bits of their floats (truncation.cc).
  static constexpr std::size_t kNumBuckets = 2048;
  std::array<double, kNumBuckets> bucket_mass{};
  std::array<std::uint32_t, kNumBuckets> bucket_count{};
};

}  // namespace tvllm::sampling
