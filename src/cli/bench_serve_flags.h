// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bench/completion_request.h"
#include "bench/prompts.h"
#include "bench/serving_report.h"

namespace CLI {
class App;
}

namespace tvllm::cli {

// What the command line of `bench serve` says, under the names of `vllm bench serve`.
struct BenchServeOptions {
  std::string base_url;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;
  std::string endpoint;  // empty: that of the backend
  std::vector<std::string> headers;
  std::string model;
  std::string served_model_name;
  std::string tokenizer;
  bool skip_tokenizer_init = false;
  bench::PromptOptions prompts;
  bench::CompletionOptions completion;
  bench::ServingRun run;
  std::string percentile_metrics = "ttft,tpot,itl";
  std::string metric_percentiles = "99";
  std::vector<std::string> goodput;
  std::vector<std::string> metadata;
  std::int32_t num_warmups = 0;
  std::int32_t ready_check_timeout_s = 0;
  bool disable_progress = false;
  bool save_result = false;
  bool save_detailed = false;
  bool append_result = false;
  std::string result_dir;
  std::string result_filename;
};

void add_bench_serve_flags(CLI::App& app, BenchServeOptions& options);

// Brings what was given as text into its form: metrics, percentiles, bounds, metadata, arrivals.
Status settle_bench_serve(BenchServeOptions& options);

// "KEY=VALUE" of each text; `option` stands in the error.
using TextPairs = std::vector<std::pair<std::string, std::string>>;
Result<TextPairs> parse_pairs(const std::vector<std::string>& texts, const char* option);

}  // namespace tvllm::cli
