// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tvllm::bench {

// When requests are sent. Names and meanings are those of `vllm bench serve`.
struct ArrivalOptions {
  double request_rate = std::numeric_limits<double>::infinity();  // a second
  // Shape of the gamma distribution of the gaps: 1 is a Poisson process, less comes in bursts, more
  // is more even.
  double burstiness = 1.0;
  // "linear" or "exponential", from one rate to the other; empty: one rate for all.
  std::string ramp_up_strategy = {};
  double ramp_up_start_rps = 0.0;
  double ramp_up_end_rps = 0.0;
  std::uint64_t seed = 0;
};

// Seconds after the start, in order. With one rate they are stretched so that the last one is at
// count / rate: else the sum of a few gaps would make another load with each seed.
std::vector<double> arrival_times(const ArrivalOptions& options, std::size_t count);

}  // namespace tvllm::bench
