// SPDX-License-Identifier: Apache-2.0
#include "engine/step_cost_model.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tvllm::engine {

namespace {

// Places in Costs: fixed, decode, prefill, context.
constexpr std::size_t kPrefill = 2;
constexpr std::size_t kContext = 3;

// A step's weight halves in 34 steps: long enough to see several loads, short enough to follow a
// machine that slows down within a second or two.
constexpr double kDecay = 0.98;
// Past these many observations one that is further from the estimate than the factor is taken as
// that far: a real change gets through in a few steps all the same.
constexpr std::int64_t kNumTrusted = 8;
constexpr double kMaxSurprise = 2.0;
// Sweeps of coordinate descent a step. It starts from the last estimate, so it goes on converging
// from step to step, and leaves alone what the data does not determine.
constexpr int kNumSweeps = 8;

}  // namespace

StepCostModel::Costs StepCostModel::counts_of(const StepLoad& load) {
  return {1.0, static_cast<double>(load.num_decode_tokens),
          static_cast<double>(load.num_prefill_tokens),
          static_cast<double>(load.num_context_tokens)};
}

double StepCostModel::predict(const StepLoad& load) const {
  const Costs counts = counts_of(load);
  double seconds = 0.0;
  for (std::size_t i = 0; i < kNumCosts; ++i) {
    seconds += costs_[i] * counts[i];
  }
  return seconds;
}

void StepCostModel::observe(const StepLoad& load, double seconds) {
  TVLLM_DCHECK(seconds > 0.0, "a step of ", seconds, " s");
  const Costs counts = counts_of(load);
  if (num_observed_ == 0) start(counts, seconds);
  if (num_observed_ >= kNumTrusted) {
    const double expected = predict(load);
    seconds = std::clamp(seconds, expected / kMaxSurprise, expected * kMaxSurprise);
  }
  ++num_observed_;
  for (std::size_t i = 0; i < kNumCosts; ++i) {
    const double x = counts[i] / seconds;
    for (std::size_t j = 0; j < kNumCosts; ++j) {
      moments_[i][j] = kDecay * moments_[i][j] + x * (counts[j] / seconds);
    }
    targets_[i] = kDecay * targets_[i] + x;
  }
  fit(counts);
}

// The first guess, until steps of other loads tell the costs apart: reading the weights costs as
// much as computing eight tokens, and attending to 4,000 positions as much as one.
void StepCostModel::start(const Costs& counts, double seconds) {
  constexpr Costs kShares = {8.0, 1.0, 1.0, 1.0 / 4000.0};
  double total = 0.0;
  for (std::size_t i = 0; i < kNumCosts; ++i) {
    total += kShares[i] * counts[i];
  }
  for (std::size_t i = 0; i < kNumCosts; ++i) {
    costs_[i] = kShares[i] * seconds / total;
  }
}

// Least squares of (predicted - measured) / measured under costs >= 0. A cost that the newest step
// says nothing about stays: old steps alone would explain a slower machine by cheaper prompts.
void StepCostModel::fit(const Costs& newest) {
  for (int sweep = 0; sweep < kNumSweeps; ++sweep) {
    for (std::size_t i = 0; i < kNumCosts; ++i) {
      if (newest[i] == 0.0) continue;
      double gradient = -targets_[i];
      for (std::size_t j = 0; j < kNumCosts; ++j) {
        gradient += moments_[i][j] * costs_[j];
      }
      costs_[i] = std::max(0.0, costs_[i] - gradient / moments_[i][i]);
    }
  }
}

// Token i of them attends to position + i + 1 positions, so the sum over n is
// n * position + n (n + 1) / 2, and n solves  (c / 2) n^2 + (b + c (position + 1 / 2)) n = seconds.
double StepCostModel::prefill_tokens_within(double seconds, const StepLoad& load,
                                            std::int64_t position) const {
  const double left = seconds - predict(load);
  if (left <= 0.0) return 0.0;
  const double quadratic = costs_[kContext] / 2.0;
  const double linear = costs_[kPrefill] + costs_[kContext] * (static_cast<double>(position) + 0.5);
  // The form of the root that does not cancel, and is right for quadratic = 0 as well.
  const double root = linear + std::sqrt(linear * linear + 4.0 * quadratic * left);
  constexpr double kPlenty = 1e9;
  return root > 0.0 ? std::min(2.0 * left / root, kPlenty) : kPlenty;
}

}  // namespace tvllm::engine
