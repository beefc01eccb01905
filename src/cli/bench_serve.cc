// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "bench/completion_request.h"
#include "bench/http/load_client.h"
#include "bench/serving_report.h"
#include "cli/bench.h"
#include "cli/bench_serve_flags.h"
#include "cli/progress_bar.h"
#include "cli/report.h"
#include "server/http/http_server.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::cli {

namespace {

constexpr std::size_t kReservedFiles = 32;
constexpr std::size_t kMaxErrorsShown = 10;
constexpr std::chrono::seconds kReadyCheckInterval(1);

Result<bench::ServerAddress> server_address(const BenchServeOptions& options) {
  if (!options.base_url.empty()) return bench::parse_base_url(options.base_url);
  return bench::ServerAddress{.host = options.host, .port = options.port};
}

// vLLM's default is the model's own; here that is a file, if the name of the model is one.
std::string tokenizer_path(const BenchServeOptions& options) {
  if (options.skip_tokenizer_init) return {};
  if (!options.tokenizer.empty()) return options.tokenizer;
  std::error_code ignored;
  return std::filesystem::is_regular_file(options.model, ignored) ? options.model : std::string();
}

Result<bench::Headers> request_headers(const BenchServeOptions& options) {
  TVLLM_TRY(bench::Headers headers, parse_pairs(options.headers, "header"));
  if (const char* const key = std::getenv("OPENAI_API_KEY"); key != nullptr && *key != '\0') {
    headers.emplace_back("Authorization", str_cat("Bearer ", key));
  }
  return headers;
}

// --- the run -----------------------

Result<std::string> ask_for_model(const bench::ServerAddress& server,
                                  const bench::Headers& headers) {
  print("Model not specified, fetching first model from server...\n");
  TVLLM_TRY(const bench::FetchedAnswer answer,
            bench::fetch(server, bench::request_bytes(server, "GET", "/v1/models", headers)));
  const std::optional<std::string> id = bench::first_model_id(answer.body);
  if (answer.status != 200 || !id) {
    return make_error(
        ErrorCode::kUnavailable,
        str_cat(server.url(), "/v1/models names no model (HTTP ", answer.status, ")"));
  }
  print(str_cat("First model: ", *id, "\n"));
  return *id;
}

// Everything that is settled before the first request.
struct Prepared {
  bench::ServerAddress server;
  std::vector<bench::LoadRequest> requests;
};

Result<Prepared> prepare(BenchServeOptions& options) {
  TVLLM_RETURN_IF_ERROR(settle_bench_serve(options));
  Prepared prepared;
  TVLLM_TRY(prepared.server, server_address(options));
  TVLLM_TRY(const bench::Headers headers, request_headers(options));

  std::optional<app::ModelBundle> bundle;
  options.run.tokenizer_id = tokenizer_path(options);
  if (!options.run.tokenizer_id.empty()) {
    TVLLM_TRY(bundle, app::load_bundle(options.run.tokenizer_id));
  }
  TVLLM_TRY(const std::vector<bench::BenchPrompt> prompts,
            bench::make_prompts(options.prompts, bundle ? bundle->tokenizer.get() : nullptr));
  options.run.num_prompts = options.prompts.num_prompts;

  options.run.model_id = options.model;
  if (options.model.empty()) {
    TVLLM_TRY(options.run.model_id, ask_for_model(prepared.server, headers));
  }
  bench::CompletionOptions& completion = options.completion;
  completion.is_chat = options.run.backend == "openai-chat";
  completion.model =
      options.served_model_name.empty() ? options.run.model_id : options.served_model_name;
  if (options.prompts.dataset_name == "random") completion.ignore_eos = true;  // as vLLM
  TVLLM_TRY(const std::vector<std::string> bodies, bench::completion_bodies(completion, prompts));
  const std::string path = !options.endpoint.empty() ? options.endpoint
                           : completion.is_chat      ? "/v1/chat/completions"
                                                     : "/v1/completions";
  const std::vector<double> times = bench::arrival_times(options.run.arrivals, prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    prepared.requests.push_back(
        {.bytes = bench::request_bytes(prepared.server, "POST", path, headers, bodies[i]),
         .at_seconds = times[i],
         .num_prompt_tokens = prompts[i].num_tokens});
  }
  return prepared;
}

Status wait_until_ready(const BenchServeOptions& options, const Prepared& prepared) {
  if (options.ready_check_timeout_s == 0) return {};
  print("Starting initial single prompt test run...\n");
  bench::LoadRequest request = prepared.requests.front();
  request.at_seconds = 0.0;
  const TimePoint deadline =
      steady_clock().now() + std::chrono::seconds(options.ready_check_timeout_s);
  while (true) {
    TVLLM_TRY(const bench::LoadRun run,
              bench::run_load(prepared.server, std::span(&request, 1), {}));
    if (run.outcomes.front().success) break;
    if (steady_clock().now() >= deadline) {
      return make_error(ErrorCode::kUnavailable,
                        str_cat("the initial test run failed: ", run.outcomes.front().error));
    }
    std::this_thread::sleep_for(kReadyCheckInterval);
  }
  print("Initial test run completed.\n");
  return {};
}

Result<bench::LoadRun> send_all(const BenchServeOptions& options,
                                const bench::ServerAddress& server,
                                std::span<const bench::LoadRequest> requests, const char* what) {
  ProgressBar progress(!options.disable_progress);
  std::int64_t num_finished = 0;
  const auto total = static_cast<std::int64_t>(requests.size());
  progress.show(0, total, what);
  return bench::run_load(
      server, requests,
      {.max_concurrency = static_cast<std::size_t>(options.run.max_concurrency.value_or(0)),
       .on_finished = [&] { progress.show(++num_finished, total, what); }});
}

Status warm_up(const BenchServeOptions& options, const Prepared& prepared) {
  if (options.num_warmups == 0) return {};
  print(str_cat("Warming up with ", options.num_warmups, " requests...\n"));
  bench::LoadRequest request = prepared.requests.front();
  request.at_seconds = 0.0;
  const std::vector<bench::LoadRequest> requests(static_cast<std::size_t>(options.num_warmups),
                                                 request);
  TVLLM_TRY(const bench::LoadRun run, send_all(options, prepared.server, requests, "Warmup"));
  print("Warmup run completed.\n");
  return {};
}

void print_traffic(const bench::ServingRun& run) {
  const bench::ArrivalOptions& arrivals = run.arrivals;
  print("Starting main benchmark run...\n");
  if (arrivals.ramp_up_strategy.empty()) {
    print(str_cat("Traffic request rate: ", arrivals.request_rate, "\n"));
  } else {
    print(str_cat("Traffic ramp-up strategy: ", arrivals.ramp_up_strategy, ", from ",
                  arrivals.ramp_up_start_rps, " to ", arrivals.ramp_up_end_rps, " RPS\n"));
  }
  print(str_cat("Burstiness factor: ", arrivals.burstiness,
                arrivals.burstiness == 1.0 ? " (Poisson process)\n" : " (Gamma distribution)\n",
                "Maximum request concurrency: ",
                run.max_concurrency ? str_cat(*run.max_concurrency) : "None", "\n"));
}

void print_errors(const std::vector<bench::RequestOutcome>& outcomes) {
  std::size_t num_shown = 0;
  for (const bench::RequestOutcome& outcome : outcomes) {
    if (outcome.success || num_shown == kMaxErrorsShown) continue;
    if (num_shown == 0) print("Failed requests during benchmark run detected (capping to 10):\n");
    print(str_cat("Error ", num_shown++, ": ", outcome.error, "\n"));
  }
}

// --- the file -----------------------

std::string current_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts));
}

// "openai-2.5qps-concurrency16-SmolLM2-20261207-121314.json", as vLLM.
std::string default_filename(const bench::ServingRun& run) {
  const bench::ArrivalOptions& arrivals = run.arrivals;
  std::string name = run.label.empty() ? run.backend : run.label;
  if (arrivals.ramp_up_strategy.empty()) {
    const double rate = arrivals.request_rate;
    str_append(name, "-", rate, !std::isinf(rate) && rate == std::trunc(rate) ? ".0" : "", "qps");
  } else {
    str_append(name, "-ramp-up-", arrivals.ramp_up_strategy, "-", arrivals.ramp_up_start_rps,
               "qps-", arrivals.ramp_up_end_rps, "qps");
  }
  if (run.max_concurrency) str_append(name, "-concurrency", *run.max_concurrency);
  const std::string& model = run.model_id;
  str_append(name, "-", model.substr(model.rfind('/') + 1), "-", run.date, ".json");
  return name;
}

Status save(const BenchServeOptions& options, const std::string& json) {
  std::filesystem::path path =
      options.result_filename.empty() ? default_filename(options.run) : options.result_filename;
  if (!options.result_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.result_dir, error);
    if (error) {
      return make_error(ErrorCode::kIo,
                        str_cat(tvllm::quoted(options.result_dir), ": ", error.message()));
    }
    path = options.result_dir / path;
  }
  return options.append_result ? append_line(path.string(), json) : write_file(path.string(), json);
}

int run(BenchServeOptions& options) {
  set_log_level(LogLevel::kWarning);
  server::raise_file_limit(kReservedFiles);
  const Result<Prepared> prepared = prepare(options);
  if (!prepared.has_value()) return report_error(prepared.error());
  if (const Status ready = wait_until_ready(options, *prepared); !ready.has_value()) {
    return report_error(ready.error());
  }
  if (const Status warm = warm_up(options, *prepared); !warm.has_value()) {
    return report_error(warm.error());
  }
  options.run.date = current_date();
  print_traffic(options.run);
  const Result<bench::LoadRun> load =
      send_all(options, prepared->server, prepared->requests, "Requests");
  if (!load.has_value()) return report_error(load.error());

  print_errors(load->outcomes);
  const bench::ServingMetrics metrics =
      bench::serving_metrics(load->outcomes, load->seconds, options.run.metric_options);
  print(bench::serving_report(options.run, metrics));
  if (options.save_result || options.append_result) {
    const std::span<const bench::RequestOutcome> outcomes = load->outcomes;
    const Status saved =
        save(options, bench::serving_json(options.run, metrics,
                                          options.save_detailed ? outcomes : outcomes.first(0)));
    if (!saved.has_value()) return report_error(saved.error());
  }
  return metrics.num_completed > 0 ? kExitOk : kExitFailure;
}

}  // namespace

Verb add_bench_serve(CLI::App& bench) {
  auto options = std::make_shared<BenchServeOptions>();
  CLI::App* app = bench.add_subcommand(
      "serve", "What the users of a server feel: load for any OpenAI-compatible one");
  add_bench_serve_flags(*app, *options);
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
