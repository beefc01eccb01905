// SPDX-License-Identifier: Apache-2.0
#include "bench/throughput.h"

#include <memory>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/strings.h"
#include "bench/step_report.h"
#include "core/request.h"

namespace tvllm::bench {

namespace {

using Requests = std::vector<std::shared_ptr<const Request>>;

Result<Requests> make_requests(const std::vector<BenchPrompt>& prompts,
                               const ThroughputOptions& options, std::int32_t max_model_len) {
  Requests requests;
  for (const BenchPrompt& prompt : prompts) {
    const std::int64_t total = std::int64_t{prompt.num_tokens} + prompt.num_output_tokens;
    if (total > max_model_len) {
      return invalid_argument(str_cat("a prompt of ", prompt.num_tokens,
                                      " tokens and an answer of ", prompt.num_output_tokens,
                                      " make ", total, "; the longest sequence is ", max_model_len),
                              "input-len");
    }
    for (std::int32_t choice = 0; choice < options.n; ++choice) {
      Request request;
      request.prompt_token_ids = prompt.token_ids;
      request.sampling.seed = options.seed + requests.size();
      request.sampling.choice_index = static_cast<std::uint32_t>(choice);
      request.sampling.max_tokens = prompt.num_output_tokens;
      request.sampling.ignore_eos = true;
      requests.push_back(std::make_shared<Request>(std::move(request)));
    }
  }
  return requests;
}

double per_second(std::int64_t count, const ThroughputResult& result) {
  return static_cast<double>(count) / result.run.seconds;
}

std::int64_t num_tokens(const ThroughputResult& result) {
  return result.run.num_prompt_tokens + result.run.num_output_tokens;
}

}  // namespace

Result<ThroughputResult> run_throughput(const OfflineSetup& setup,
                                        const std::vector<BenchPrompt>& prompts,
                                        const ThroughputOptions& options,
                                        std::function<void()> on_finished) {
  TVLLM_TRY(const Requests requests, make_requests(prompts, options, setup.engine.max_model_len()));
  StepProfile profile(setup.ring);
  ThroughputResult result;
  result.num_requests = static_cast<std::int64_t>(requests.size());
  TVLLM_TRY(result.run, setup.runner.run(
                            setup.engine, requests,
                            {.detokenizer = options.disable_detokenize ? nullptr : &setup.tokenizer,
                             .on_start = [&profile] { profile.skip(); },
                             .on_events = [&profile] { profile.poll(); },
                             .on_finished = std::move(on_finished)}));
  result.prefill = profile.prefill();
  result.decode = profile.decode();
  result.num_lost_events = profile.num_lost_events();
  return result;
}

std::string throughput_report(const ThroughputResult& result) {
  std::string out =
      str_cat("Throughput: ", fixed(per_second(result.num_requests, result), 2), " requests/s, ",
              fixed(per_second(num_tokens(result), result), 2), " total tokens/s, ",
              fixed(per_second(result.run.num_output_tokens, result), 2), " output tokens/s\n",
              "Total num prompt tokens:  ", result.run.num_prompt_tokens, "\n",
              "Total num output tokens:  ", result.run.num_output_tokens, "\n\n",
              step_table(result.prefill, result.decode));
  if (result.num_lost_events > 0) {
    str_append(out, "The trace lost ", result.num_lost_events,
               " events: the table misses some steps.\n");
  }
  return out;
}

std::string throughput_json(const ThroughputResult& result) {
  const boost::json::object json{
      {"elapsed_time", result.run.seconds},
      {"num_requests", result.num_requests},
      {"total_num_tokens", num_tokens(result)},
      {"requests_per_second", per_second(result.num_requests, result)},
      {"tokens_per_second", per_second(num_tokens(result), result)},
      {"output_tokens_per_second", per_second(result.run.num_output_tokens, result)},
      {"steps", boost::json::object{{"prefill", step_json(result.prefill)},
                                    {"decode", step_json(result.decode)}}}};
  return boost::json::serialize(json);
}

}  // namespace tvllm::bench
