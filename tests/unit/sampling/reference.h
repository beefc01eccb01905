// SPDX-License-Identifier: Apache-2.0
// The sampler as a textbook writes it: double precision, a full sort, no shortcuts. Tests compare
// with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/request.h"
#include "core/sampling_params.h"

namespace tvllm::sampling {

inline std::vector<float> random_row(std::size_t size, float sigma, std::uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, sigma);
  std::vector<float> row(size);
  for (float& x : row)
    x = normal(rng);
  return row;
}

// Few distinct values, so that most tokens tie with others.
inline std::vector<float> tied_row(std::size_t size, int num_values, std::uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<float> row(size);
  for (float& x : row)
    x = static_cast<float>(rng() % static_cast<std::uint32_t>(num_values)) * 0.5f;
  return row;
}

inline std::vector<double> reference_softmax(const std::vector<float>& logits, double temperature) {
  const auto max = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  std::vector<double> probabilities(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    probabilities[i] = std::exp((static_cast<double>(logits[i]) - max) / temperature);
    sum += probabilities[i];
  }
  for (double& p : probabilities)
    p /= sum;
  return probabilities;
}

// All ids, best first, lower id first where logits are equal.
inline std::vector<TokenId> reference_order(const std::vector<float>& logits) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  return order;
}

struct ReferenceSet {
  std::vector<TokenId> ids;  // ascending
  // How far the nearest running mass is from top_p: where it is tiny, float rounding may decide.
  double margin = 1.0;
};

// min_p, then top_k, then top_p over what is left.
inline ReferenceSet reference_set(const std::vector<float>& logits, const SamplingParams& params) {
  const std::vector<double> p = reference_softmax(logits, static_cast<double>(params.temperature));
  const auto at = [&p](TokenId id) { return p[static_cast<std::size_t>(id)]; };
  std::vector<TokenId> order = reference_order(logits);
  ReferenceSet out;
  const double best = at(order[0]);
  // A float holds no weight that is less of the best one's than this.
  const double lowest = std::max(static_cast<double>(params.min_p), 0x1.0p-126);
  std::size_t n = 0;
  while (n < order.size() && at(order[n]) >= lowest * best)
    ++n;
  for (const TokenId id : order) {
    if (params.min_p > 0) {
      out.margin =
          std::min(out.margin, std::abs(at(id) / best - static_cast<double>(params.min_p)));
    }
  }
  if (params.top_k > 0) n = std::min(n, static_cast<std::size_t>(params.top_k));
  order.resize(n);
  if (params.top_p < 1) {
    double total = 0;
    for (const TokenId id : order)
      total += at(id);
    const double target = static_cast<double>(params.top_p) * total;
    double mass = 0;
    std::size_t kept = 0;
    while (kept < order.size() && mass < target) {
      mass += at(order[kept]);
      ++kept;
      out.margin = std::min(out.margin, std::abs(mass - target) / total);
    }
    order.resize(kept);
  }
  std::sort(order.begin(), order.end());
  out.ids = std::move(order);
  return out;
}

// The chance that a fair experiment gives a statistic as large as this, by Wilson and Hilferty.
inline double chi_square_p_value(double statistic, std::size_t degrees_of_freedom) {
  const double k = static_cast<double>(degrees_of_freedom);
  const double z = (std::cbrt(statistic / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

// Pearson's test of counts against probabilities; cells that expect fewer than 10 are joined.
// A draw of what has probability 0 gives 0.
inline double fit_p_value(const std::vector<std::int64_t>& counts,
                          const std::vector<double>& probabilities) {
  const double n =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  double statistic = 0;
  std::size_t num_cells = 0;
  double rest_expected = 0;
  double rest_count = 0;
  const auto add_cell = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++num_cells;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0 && counts[i] > 0) return 0;
    if (n * probabilities[i] >= 10) {
      add_cell(static_cast<double>(counts[i]), n * probabilities[i]);
    } else {
      rest_expected += n * probabilities[i];
      rest_count += static_cast<double>(counts[i]);
    }
  }
  if (rest_expected >= 10) add_cell(rest_count, rest_expected);
  return num_cells < 2 ? 1.0 : chi_square_p_value(statistic, num_cells - 1);
}

inline std::shared_ptr<const Request> make_request(SamplingParams sampling,
                                                   std::vector<TokenId> prompt = {1}) {
  auto request = std::make_shared<Request>();
  request->prompt_token_ids = std::move(prompt);
  request->sampling = std::move(sampling);
  return request;
}

}  // namespace tvllm::sampling
