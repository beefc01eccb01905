// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace tvllm::bench {

// As numpy's of the same names: linear between the two nearest ranks, the deviation of the
// population. All are 0 of nothing.
double mean(std::span<const double> values);
double standard_deviation(std::span<const double> values);
// `percents` in [0, 100]; the results are in the same order.
std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents);
double percentile(std::span<const double> values, double percent);

}  // namespace tvllm::bench
