// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tvllm::bench {

double mean(std::span<const double> values) {
  if (values.empty()) return 0.0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.empty()) return 0.0;
  const double middle = mean(values);
  double sum = 0.0;
  for (const double value : values)
    sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> results;
  for (const double percent : percents) {
    if (sorted.empty()) {
      results.push_back(0.0);
      continue;
    }
    const double rank = percent / 100.0 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(rank);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double share = rank - static_cast<double>(below);
    results.push_back(sorted[below] + (sorted[above] - sorted[below]) * share);
  }
  return results;
}

double percentile(std::span<const double> values, double percent) {
  return percentiles(values, std::span(&percent, 1)).front();
}

}  // namespace tvllm::bench
