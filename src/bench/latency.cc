// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <array>
#include <memory>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/strings.h"
#include "bench/random_source.h"
#include "bench/statistics.h"
#include "bench/step_report.h"
#include "core/request.h"
#include "tokenizer/tokenizer.h"
#include "trace/trace_ring.h"

namespace tvllm::bench {

namespace {

constexpr std::array<double, 6> kPercents = {10, 25, 50, 75, 90, 99};

using Requests = std::vector<std::shared_ptr<const Request>>;

// Ordinary tokens at random. The same prompts in each iteration, as in vLLM: the engine must not
// share prefixes.
Requests make_requests(const tokenizer::Tokenizer& tokenizer, const LatencyOptions& options) {
  std::vector<TokenId> ordinary;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.is_special(id)) ordinary.push_back(id);
  }
  RandomSource random(options.seed);
  Requests requests;
  for (std::int32_t i = 0; i < options.batch_size; ++i) {
    std::vector<TokenId> prompt;
    for (std::int32_t j = 0; j < options.input_len; ++j) {
      const std::int64_t last = static_cast<std::int64_t>(ordinary.size()) - 1;
      prompt.push_back(ordinary[static_cast<std::size_t>(random.uniform_int(0, last))]);
    }
    for (std::int32_t choice = 0; choice < options.n; ++choice) {
      Request request;
      request.prompt_token_ids = prompt;
      request.sampling.seed = options.seed + static_cast<std::uint64_t>(i);
      request.sampling.choice_index = static_cast<std::uint32_t>(choice);
      request.sampling.max_tokens = options.output_len;
      request.sampling.ignore_eos = true;
      requests.push_back(std::make_shared<Request>(std::move(request)));
    }
  }
  return requests;
}

Status check_lengths(const LatencyOptions& options, std::int32_t max_model_len) {
  const std::int64_t total = std::int64_t{options.input_len} + options.output_len;
  if (total <= max_model_len) return {};
  return invalid_argument(
      str_cat("--input-len ", options.input_len, " and --output-len ", options.output_len, " make ",
              total, " tokens; the longest sequence is ", max_model_len),
      "input-len");
}

}  // namespace

Result<LatencyResult> run_latency(const OfflineSetup& setup, const LatencyOptions& options,
                                  const LatencyProgress& on_progress) {
  TVLLM_RETURN_IF_ERROR(check_lengths(options, setup.engine.max_model_len()));
  const Requests requests = make_requests(setup.tokenizer, options);
  StepProfile profile(setup.ring);
  const OfflineOptions offline{
      .detokenizer = options.disable_detokenize ? nullptr : &setup.tokenizer,
      .on_start = [&profile] { profile.skip(); },
      .on_events = [&profile] { profile.poll(); }};

  LatencyResult result;
  for (std::int32_t i = 0; i < options.num_iters_warmup; ++i) {
    TVLLM_TRY(const OfflineRun run, setup.runner.run(setup.engine, requests, offline));
    if (on_progress) on_progress(i + 1, options.num_iters_warmup, "Warmup iterations");
  }
  profile.clear();
  for (std::int32_t i = 0; i < options.num_iters; ++i) {
    TVLLM_TRY(const OfflineRun run, setup.runner.run(setup.engine, requests, offline));
    result.latencies.push_back(run.seconds);
    result.first_token_seconds.insert(result.first_token_seconds.end(),
                                      run.first_token_seconds.begin(),
                                      run.first_token_seconds.end());
    if (on_progress) on_progress(i + 1, options.num_iters, "Bench iterations");
  }
  result.prefill = profile.prefill();
  result.decode = profile.decode();
  result.num_lost_events = profile.num_lost_events();
  return result;
}

std::string latency_report(const LatencyResult& result) {
  std::string out = str_cat("Avg latency: ", mean(result.latencies), " seconds\n",
                            "Std latency: ", standard_deviation(result.latencies), " seconds\n");
  const std::vector<double> values = percentiles(result.latencies, kPercents);
  for (std::size_t i = 0; i < kPercents.size(); ++i) {
    str_append(out, fixed(kPercents[i], 0), "% percentile latency: ", values[i], " seconds\n");
  }
  str_append(out, "Median time to first token: ", percentile(result.first_token_seconds, 50.0),
             " seconds\n\n", step_table(result.prefill, result.decode));
  if (result.num_lost_events > 0) {
    str_append(out, "The trace lost ", result.num_lost_events,
               " events: the table misses some steps.\n");
  }
  return out;
}

std::string latency_json(const LatencyResult& result) {
  boost::json::object by_percent;
  const std::vector<double> values = percentiles(result.latencies, kPercents);
  for (std::size_t i = 0; i < kPercents.size(); ++i)
    by_percent[fixed(kPercents[i], 0)] = values[i];
  const boost::json::object json{
      {"avg_latency", mean(result.latencies)},
      {"std_latency", standard_deviation(result.latencies)},
      {"latencies", boost::json::array(result.latencies.begin(), result.latencies.end())},
      {"percentiles", std::move(by_percent)},
      {"median_time_to_first_token", percentile(result.first_token_seconds, 50.0)},
      {"steps", boost::json::object{{"prefill", step_json(result.prefill)},
                                    {"decode", step_json(result.decode)}}}};
  return boost::json::serialize(json);
}

}  // namespace tvllm::bench
