// SPDX-License-Identifier: Apache-2.0
#include "sampling/truncation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sampling/top_tokens.h"

namespace tvllm::sampling {

namespace {

// exp_row gives no smaller weight but 0, and what weighs 0 is never drawn.
constexpr float kSmallestWeight = std::numeric_limits<float>::min();

// `num_kept` pairs of scratch.ids and scratch.values: candidates while they are being cut.
struct Kept {
  std::span<TokenId> ids;
  std::span<float> weights;
};

template <typename Predicate>
Kept keep_if(Kept kept, Predicate&& keeps) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < kept.weights.size(); ++i) {
    const TokenId id = kept.ids[i];
    const float weight = kept.weights[i];
    kept.ids[n] = id;
    kept.weights[n] = weight;
    n += keeps(weight) ? 1 : 0;
  }
  return {kept.ids.first(n), kept.weights.first(n)};
}

Kept keep_top_k(std::span<const float> logits, const RowStats& stats, const SamplingParams& params,
                SamplerScratch& scratch) {
  const std::span<RankedToken> best =
      select_top(logits, static_cast<std::size_t>(params.top_k), scratch);
  std::sort(best.begin(), best.end(), [](RankedToken a, RankedToken b) { return a.id < b.id; });
  const Kept kept{std::span(scratch.ids).first(best.size()),
                  std::span(scratch.values).first(best.size())};
  for (std::size_t i = 0; i < best.size(); ++i) {
    kept.ids[i] = best[i].id;
    kept.weights[i] = best[i].value;
  }
  exp_row(kept.weights, stats.max, 1.0f / params.temperature, kept.weights);
  const float lowest = std::max(params.min_p, kSmallestWeight);
  return keep_if(kept, [lowest](float weight) { return weight >= lowest; });
}

// The lightest weight of the nucleus, and how many tokens of just that weight belong to it.
struct NucleusCut {
  float weight = 0.0f;
  std::size_t num_at_weight = 0;
};

// Finds the cut by radix: positive floats are ordered as their bits are. A histogram of counts and
// masses over the upper 11 bits tells in which bucket the running mass, heaviest first, reaches
// `target`; the next bits divide that bucket, until all its weights are one number. Linear in the
// number of weights, whatever their distribution. The masses are all but exact: a double holds the
// sum of any 2^29 floats of one exponent. Overwrites `weights`.
NucleusCut find_nucleus_cut(std::span<float> weights, double target, SamplerScratch& scratch) {
  constexpr int kShifts[] = {20, 9, 0};  // 31 bits without the sign: 11 + 11 + 9
  auto& mass = scratch.bucket_mass;
  auto& count = scratch.bucket_count;
  double mass_above = 0;
  for (const int shift : kShifts) {
    const auto bucket_of = [shift](float weight) {
      return (std::bit_cast<std::uint32_t>(weight) >> shift) % SamplerScratch::kNumBuckets;
    };
    mass.fill(0);
    count.fill(0);
    for (const float weight : weights) {
      mass[bucket_of(weight)] += static_cast<double>(weight);
      ++count[bucket_of(weight)];
    }
    // Rounding may leave the whole mass just under the target: then the lightest bucket is it.
    std::size_t crossing = SamplerScratch::kNumBuckets;
    std::size_t num_left = weights.size();
    while (num_left > 0) {
      --crossing;
      num_left -= count[crossing];
      if (num_left == 0 || (count[crossing] > 0 && mass_above + mass[crossing] >= target)) break;
      mass_above += mass[crossing];
    }
    std::size_t n = 0;
    for (const float weight : weights) {
      weights[n] = weight;
      n += bucket_of(weight) == crossing ? 1 : 0;
    }
    weights = weights.first(n);
  }
  const double missing = std::ceil((target - mass_above) / static_cast<double>(weights[0]));
  const double num = std::clamp(missing, 1.0, static_cast<double>(weights.size()));
  return {weights[0], static_cast<std::size_t>(num)};
}

Kept keep_top_p(Kept kept, double target, SamplerScratch& scratch) {
  const std::span<float> copy = std::span(scratch.weights).first(kept.weights.size());
  std::copy(kept.weights.begin(), kept.weights.end(), copy.begin());
  const NucleusCut cut = find_nucleus_cut(copy, target, scratch);
  std::size_t num_at_weight = cut.num_at_weight;
  return keep_if(kept, [&](float weight) {
    if (weight != cut.weight) return weight > cut.weight;
    if (num_at_weight == 0) return false;
    --num_at_weight;
    return true;
  });
}

// The weights of the whole vocabulary of which top_p keeps some: all of the nucleus, and seldom
// much else, so that the histogram needs to look at few. `target` is the nucleus' mass.
Kept gather_nucleus(std::span<const float> weights, double total, double target,
                    SamplerScratch& scratch) {
  const auto gather = [&](float lowest) -> Kept {
    const std::size_t n =
        collect_at_least(weights, std::max(lowest, kSmallestWeight), scratch.ids, scratch.values);
    return {std::span(scratch.ids).first(n), std::span(scratch.values).first(n)};
  };
  // A language model mostly puts the mass on a few hundred tokens. If those that reach a bound hold
  // it, the nucleus is among them.
  constexpr std::size_t kLikelySize = 256;
  const Kept likely = gather(bound_of_nth(weights, kLikelySize, scratch));
  if (sum_blocks(likely.weights, scratch.block_sums) >= target) return likely;
  // All tokens lighter than this together weigh less than half of what top_p leaves out, so none of
  // them is in the nucleus.
  const double left_out = total - target;
  return gather(static_cast<float>(0.5 * left_out / static_cast<double>(weights.size())));
}

// Without top_k: weights for the whole vocabulary first, then what min_p leaves or top_p may keep.
Candidates truncate_all(std::span<const float> logits, const RowStats& stats,
                        const SamplingParams& params, SamplerScratch& scratch) {
  const std::span<float> weights = std::span(scratch.weights).first(logits.size());
  const auto top_p = static_cast<double>(params.top_p);
  exp_row(logits, stats.max, 1.0f / params.temperature, weights);
  Kept kept;
  double total = 0;
  if (params.min_p > 0.0f) {
    const float lowest = std::max(params.min_p, kSmallestWeight);
    const std::size_t n = collect_at_least(weights, lowest, scratch.ids, scratch.values);
    kept = {std::span(scratch.ids).first(n), std::span(scratch.values).first(n)};
    if (top_p < 1.0) total = sum_blocks(kept.weights, scratch.block_sums);
  } else if (top_p < 1.0) {
    total = sum_blocks(weights, scratch.block_sums);
    kept = gather_nucleus(weights, total, top_p * total, scratch);
  } else {
    return {{}, weights};
  }
  if (top_p < 1.0) kept = keep_top_p(kept, top_p * total, scratch);
  return {kept.ids, kept.weights};
}

}  // namespace

Candidates truncate(std::span<const float> logits, const RowStats& stats,
                    const SamplingParams& params, SamplerScratch& scratch) {
  if (params.top_k <= 0 || static_cast<std::size_t>(params.top_k) >= logits.size()) {
    return truncate_all(logits, stats, params, scratch);
  }
  Kept kept = keep_top_k(logits, stats, params, scratch);
  if (params.top_p < 1.0f) {
    const double total = sum_blocks(kept.weights, scratch.block_sums);
    kept = keep_top_p(kept, static_cast<double>(params.top_p) * total, scratch);
  }
  return {kept.ids, kept.weights};
}

}  // namespace tvllm::sampling
