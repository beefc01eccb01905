// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/arrivals.h"
#include "bench/serving_metrics.h"

namespace tvllm::bench {

// What was run, for the report and the saved file.
struct ServingRun {
  std::string date = {};  // "20261207-121314"
  std::string backend = "openai";
  std::string label = {};
  std::string model_id = {};
  std::string tokenizer_id = {};  // empty: none
  std::int32_t num_prompts = 0;
  std::vector<std::pair<std::string, std::string>> metadata = {};
  ArrivalOptions arrivals = {};
  std::optional<std::int32_t> max_concurrency = {};
  std::vector<Metric> metrics = {Metric::kTtft, Metric::kTpot, Metric::kItl};
  MetricOptions metric_options = {};
};

// The table that `vllm bench serve` prints.
std::string serving_report(const ServingRun& run, const ServingMetrics& metrics);

// The JSON object that `vllm bench serve --save-result` writes. `outcomes` are there with
// --save-detailed; else nothing of single requests.
std::string serving_json(const ServingRun& run, const ServingMetrics& metrics,
                         std::span<const RequestOutcome> outcomes);

}  // namespace tvllm::bench
