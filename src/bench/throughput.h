// SPDX-License-Identifier: Apache-2.0
// `bench throughput`: how much an engine does in a given time when there is always more to do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/offline_runner.h"
#include "bench/prompts.h"
#include "bench/step_profile.h"

namespace tvllm::bench {

// Names and defaults are those of `vllm bench throughput`.
struct ThroughputOptions {
  std::int32_t n = 1;  // answers to each prompt
  bool disable_detokenize = false;
  std::uint64_t seed = 0;  // of sampling
};

struct ThroughputResult {
  OfflineRun run = {};
  std::int64_t num_requests = 0;
  StepGroup prefill = {};
  StepGroup decode = {};
  std::uint64_t num_lost_events = 0;
};

// All prompts at once; `on_finished` is called after each answer. Prompts are token ids: encoding
// them is not measured.
Result<ThroughputResult> run_throughput(const OfflineSetup& setup,
                                        const std::vector<BenchPrompt>& prompts,
                                        const ThroughputOptions& options,
                                        std::function<void()> on_finished = {});

// The lines that vLLM prints, then the steps by phase.
std::string throughput_report(const ThroughputResult& result);

// The members that vLLM saves, and "steps".
std::string throughput_json(const ThroughputResult& result);

}  // namespace tvllm::bench
