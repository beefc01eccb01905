// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tvllm::bench {

// One request as its client saw it. Times are seconds, `start` from the start of the run.
struct RequestOutcome {
  bool success = false;
  std::string error = {};  // why not
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_output_tokens = 0;
  double start = 0.0;             // sent
  double queue_seconds = 0.0;     // waited for --max-concurrency before
  double ttft = 0.0;              // until the first text
  double latency = 0.0;           // until the last text
  std::vector<double> itls = {};  // between two pieces of text
  std::string text = {};
};

// What is measured of each request, in the order of the report.
enum class Metric { kTtft, kTpot, kItl, kE2el };
struct MetricInfo {
  Metric metric = Metric::kTtft;
  std::string_view name;    // as in options and files: "ttft"
  std::string_view symbol;  // "TTFT"
  std::string_view title;   // "Time to First Token"
};
inline constexpr std::array<MetricInfo, 4> kMetrics = {{
    {Metric::kTtft, "ttft", "TTFT", "Time to First Token"},
    {Metric::kTpot, "tpot", "TPOT", "Time per Output Token (excl. 1st token)"},
    {Metric::kItl, "itl", "ITL", "Inter-token Latency"},
    {Metric::kE2el, "e2el", "E2EL", "End-to-end Latency"},
}};

// A bound of a good request: of `metric`, in milliseconds.
struct Goodput {
  Metric metric = Metric::kTtft;
  double max_ms = 0.0;
};

struct Spread {
  double mean = 0.0;
  double median = 0.0;
  double deviation = 0.0;
  std::vector<double> percentiles = {};  // in the order of the options
};

// Defined as in vLLM: TPOT is (latency - TTFT) / (output tokens - 1) of requests with two tokens or
// more; failed requests count in `num_failed` alone.
struct ServingMetrics {
  double duration = 0.0;
  std::int64_t num_completed = 0;
  std::int64_t num_failed = 0;
  std::int64_t num_input_tokens = 0;
  std::int64_t num_output_tokens = 0;
  double request_throughput = 0.0;  // a second, as the next ones
  double request_goodput = 0.0;
  double output_throughput = 0.0;
  double total_token_throughput = 0.0;
  double max_output_tokens_per_s = 0.0;  // pieces of text in the best second
  std::int64_t max_concurrent_requests = 0;
  std::array<Spread, kMetrics.size()> spreads_ms = {};  // in the order of kMetrics
};

struct MetricOptions {
  std::vector<double> percentiles = {99.0};
  std::vector<Goodput> goodput = {};  // none: not counted
};

ServingMetrics serving_metrics(std::span<const RequestOutcome> outcomes, double duration,
                               const MetricOptions& options);

}  // namespace tvllm::bench
