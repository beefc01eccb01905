// SPDX-License-Identifier: Apache-2.0
// `bench latency`: how long one batch of equal requests takes, and where that time goes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/offline_runner.h"
#include "bench/step_profile.h"

namespace tvllm::bench {

// Names and defaults are those of `vllm bench latency`.
struct LatencyOptions {
  std::int32_t input_len = 32;
  std::int32_t output_len = 128;
  std::int32_t batch_size = 8;
  std::int32_t n = 1;  // sequences a prompt
  std::int32_t num_iters_warmup = 10;
  std::int32_t num_iters = 30;
  bool disable_detokenize = false;
  std::uint64_t seed = 0;
};

struct LatencyResult {
  std::vector<double> latencies = {};            // seconds, one an iteration
  std::vector<double> first_token_seconds = {};  // of each request of each iteration
  StepGroup prefill = {};                        // over all iterations
  StepGroup decode = {};
  std::uint64_t num_lost_events = 0;  // above 0: the groups miss steps
};

// (iterations done, of how many, what they are)
using LatencyProgress = std::function<void(std::int32_t, std::int32_t, std::string_view)>;

Result<LatencyResult> run_latency(const OfflineSetup& setup, const LatencyOptions& options,
                                  const LatencyProgress& on_progress = {});

// The lines that vLLM prints, then the steps by phase.
std::string latency_report(const LatencyResult& result);

// The members that vLLM saves, and "steps".
std::string latency_json(const LatencyResult& result);

}  // namespace tvllm::bench
