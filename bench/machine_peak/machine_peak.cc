// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_peak/machine_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/cpu/cpu_features.h"
#include "bench/machine_peak/loops.h"

namespace tvllm::bench {

namespace {

constexpr int kRounds = 5;  // the best one counts: others were disturbed
constexpr std::int64_t kIterations = 4'000'000;
constexpr std::size_t kBytesPerThread = std::size_t{192} << 20;

// Results go here, so that loops are not left out.
std::atomic<std::int64_t> sink{0};

// Seconds of the fastest of some rounds.
template <typename Body>
double fastest(ThreadPool& pool, Body&& body) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    pool.run(body);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

double measure_read(ThreadPool& pool) {
  const auto num_threads = static_cast<std::size_t>(pool.num_threads());
  std::vector<std::vector<std::uint64_t>> buffers(num_threads);
  pool.run([&](int worker_idx) {
    buffers[static_cast<std::size_t>(worker_idx)].assign(kBytesPerThread / sizeof(std::uint64_t),
                                                         1);
  });
  const double seconds = fastest(pool, [&](int worker_idx) {
    constexpr std::size_t kLanes = 16;
    std::uint64_t lanes[kLanes] = {};
    const std::vector<std::uint64_t>& words = buffers[static_cast<std::size_t>(worker_idx)];
    for (std::size_t i = 0; i + kLanes <= words.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += words[i + lane];
      }
    }
    std::uint64_t total = 0;
    for (const std::uint64_t lane : lanes) {
      total += lane;
    }
    sink += static_cast<std::int64_t>(total);
  });
  return static_cast<double>(kBytesPerThread * num_threads) / seconds * 1e-9;
}

}  // namespace

MachinePeak measure_machine_peak(ThreadPool& pool) {
  MachinePeak peak;
  peak.read_gb_per_s = measure_read(pool);
#if defined(__x86_64__)
  const cpu::CpuFeatures features = cpu::detect_cpu_features();
  if (!features.avx2 || !features.fma) return peak;
  const double iterations = static_cast<double>(kIterations) * pool.num_threads() * 1e-9;
  const double bytes = fastest(pool, [](int) { sink += multiply_bytes_avx2(kIterations); });
  peak.int8_gop_per_s = iterations * kByteOpsPerIteration / bytes;
  const double floats = fastest(
      pool, [](int) { sink += static_cast<std::int64_t>(multiply_floats_avx2(kIterations)); });
  peak.fp32_gflop_per_s = iterations * kFloatOpsPerIteration / floats;
#endif
  return peak;
}

}  // namespace tvllm::bench
