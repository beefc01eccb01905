// SPDX-License-Identifier: Apache-2.0
#include "bench/arrivals.h"

#include <algorithm>
#include <cmath>

#include "bench/random_source.h"

namespace tvllm::bench {

namespace {

// The prompts have stream 0.
constexpr std::uint32_t kStream = 1;

double rate_of(const ArrivalOptions& options, std::size_t index, std::size_t count) {
  if (options.ramp_up_strategy.empty()) return options.request_rate;
  const double progress =
      static_cast<double>(index) / static_cast<double>(std::max<std::size_t>(count - 1, 1));
  const double start = options.ramp_up_start_rps;
  const double end = options.ramp_up_end_rps;
  return options.ramp_up_strategy == "linear" ? start + (end - start) * progress
                                              : start * std::pow(end / start, progress);
}

double gap(const ArrivalOptions& options, double rate, RandomSource& random) {
  if (std::isinf(rate)) return 0.0;
  if (std::isinf(options.burstiness)) return 1.0 / rate;
  return random.gamma(options.burstiness) / (rate * options.burstiness);
}

}  // namespace

std::vector<double> arrival_times(const ArrivalOptions& options, std::size_t count) {
  RandomSource random(options.seed, kStream);
  std::vector<double> times;
  double now = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    now += gap(options, rate_of(options, i, count), random);
    times.push_back(now);
  }
  if (options.ramp_up_strategy.empty() && now > 0.0) {
    const double stretch = static_cast<double>(count) / options.request_rate / now;
    for (double& time : times)
      time *= stretch;
  }
  return times;
}

}  // namespace tvllm::bench
