// SPDX-License-Identifier: Apache-2.0
// machine_peak [THREADS]: one line of JSON.
#include <cstdio>
#include <cstdlib>

#include "bench/machine_peak/machine_peak.h"

int main(int argc, char** argv) {
  const int num_threads = argc > 1 ? std::atoi(argv[1]) : tvllm::default_num_threads();
  if (num_threads < 1 || num_threads > tvllm::num_machine_cpus()) {
    std::fprintf(stderr, "machine_peak: expected 1 to %d threads\n", tvllm::num_machine_cpus());
    return 2;
  }
  tvllm::ThreadPool pool(num_threads);
  const tvllm::bench::MachinePeak peak = tvllm::bench::measure_machine_peak(pool);
  std::printf(
      "{\"threads\": %d, \"read_gb_per_s\": %.1f, \"int8_gop_per_s\": %.0f, "
      "\"fp32_gflop_per_s\": %.0f}\n",
      num_threads, peak.read_gb_per_s, peak.int8_gop_per_s, peak.fp32_gflop_per_s);
  return 0;
}
