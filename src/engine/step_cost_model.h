// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tvllm::engine {

// What a step computes, as far as its time depends on it.
struct StepLoad {
  std::int32_t num_decode_tokens = 0;   // of sequences that compute one token
  std::int32_t num_prefill_tokens = 0;  // of all others
  std::int64_t num_context_tokens = 0;  // positions that the new tokens attend to, summed over them
};

// A running estimate of how long a step takes:
//
//   seconds = fixed + a * decode tokens + b * prefill tokens + c * context tokens
//
// The four costs, none negative, are those that fit the last steps best, each step's error taken
// relative to its time and weighted less the longer it is ago. What the last steps say nothing
// about (prompts, while there are only decodes) keeps its value. One step that took far longer than
// expected, because another process had the processor, moves the estimate little; many do.
//
// Thread-compatible. Knows no clock.
class StepCostModel {
 public:
  // REQUIRES: seconds > 0, a load with tokens
  void observe(const StepLoad& load, double seconds);

  // False until the first observation: then predict() is 0.
  bool has_estimate() const { return num_observed_ > 0; }
  double predict(const StepLoad& load) const;

  // The most tokens of a prompt whose first `position` tokens are computed that fit into `seconds`
  // on top of `load`. May be 0 or less.
  double prefill_tokens_within(double seconds, const StepLoad& load, std::int64_t position) const;

 private:
  static constexpr std::size_t kNumCosts = 4;
  using Costs = std::array<double, kNumCosts>;

  static Costs counts_of(const StepLoad& load);
  void start(const Costs& counts, double seconds);
  void fit(const Costs& newest);

  Costs costs_ = {};                        // seconds each: fixed, decode, prefill, context
  std::array<Costs, kNumCosts> moments_{};  // sum of w * x x^T, x = counts / seconds
  Costs targets_ = {};                      // sum of w * x
  std::int64_t num_observed_ = 0;
};

}  // namespace tvllm::engine
