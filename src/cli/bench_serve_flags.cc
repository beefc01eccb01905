// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_serve_flags.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "cli/help_formatter.h"
#include "cli/prompt_flags.h"

namespace tvllm::cli {

namespace {

constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();

// 'inf' is a rate and a burstiness, 0 is neither.
CLI::Validator above_zero() {
  return CLI::Validator(
      [](std::string& text) {
        const std::optional<double> value = parse_double(text);
        if (text == "inf" || (value && *value > 0.0)) return std::string();
        return str_cat("must be above 0, or inf; got ", text);
      },
      "above 0");
}

void add_server_flags(CLI::App& app, BenchServeOptions& options) {
  const char* const kServer = "Server";
  app.add_option("--backend", options.run.backend,
                 "What is asked: 'openai' and 'vllm' completions, 'openai-chat' chats")
      ->check(CLI::IsMember({"openai", "vllm", "openai-chat"}))
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--base-url", options.base_url, "http://HOST:PORT, instead of --host and --port")
      ->group(kServer);
  app.add_option("--host", options.host, "Where the server is")
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--port", options.port, "Its port")
      ->check(in_range(1, 65535))
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--endpoint", options.endpoint, "Path of the API [the backend's]")->group(kServer);
  app.add_option("--header", options.headers,
                 "KEY=VALUE to send with each request. OPENAI_API_KEY is sent as the key")
      ->group(kServer);
  app.add_option("--model", options.model, "Name of the model [the first that the server names]")
      ->group(kServer);
  app.add_option("--served-model-name", options.served_model_name,
                 "What requests call it instead [--model]")
      ->group(kServer);
  app.add_option("--tokenizer", options.tokenizer,
                 "GGUF file whose tokenizer makes prompts of exact lengths [--model, if that is a "
                 "file; else prompts are common words]")
      ->group(kServer);
  app.add_flag("--skip-tokenizer-init", options.skip_tokenizer_init, "Use no tokenizer")
      ->group(kServer);
  app.add_option("--ready-check-timeout-sec", options.ready_check_timeout_s,
                 "Wait at most so long until one request succeeds")
      ->check(in_range(0, 86400))
      ->capture_default_str()
      ->group(kServer);
}

void add_traffic_flags(CLI::App& app, BenchServeOptions& options) {
  const char* const kTraffic = "Traffic";
  bench::ArrivalOptions& arrivals = options.run.arrivals;
  app.add_option("--request-rate", arrivals.request_rate,
                 "Requests a second, at random times; 'inf' sends all at once [inf]")
      ->check(above_zero())
      ->group(kTraffic);
  app.add_option("--burstiness", arrivals.burstiness,
                 "1 is a Poisson process, less comes in bursts, more is more even")
      ->check(above_zero())
      ->capture_default_str()
      ->group(kTraffic);
  app.add_option("--max-concurrency", options.run.max_concurrency, "Most requests at once")
      ->check(in_range(1, 1 << 20))
      ->group(kTraffic);
  app.add_option("--ramp-up-strategy", arrivals.ramp_up_strategy,
                 "How the rate grows from --ramp-up-start-rps to --ramp-up-end-rps")
      ->check(CLI::IsMember({"linear", "exponential"}))
      ->group(kTraffic);
  app.add_option("--ramp-up-start-rps", arrivals.ramp_up_start_rps, "Requests a second at first")
      ->group(kTraffic);
  app.add_option("--ramp-up-end-rps", arrivals.ramp_up_end_rps, "Requests a second at last")
      ->group(kTraffic);
  app.add_option("--num-warmups", options.num_warmups, "Requests before those that are measured")
      ->check(in_range(0, kMaxInt))
      ->capture_default_str()
      ->group(kTraffic);
}

void add_generation_flags(CLI::App& app, BenchServeOptions& options) {
  const char* const kSampling = "Sampling";
  bench::CompletionOptions& completion = options.completion;
  app.add_flag("--ignore-eos", completion.ignore_eos,
               "Go on to the wanted length; always on with random prompts")
      ->group(kSampling);
  app.add_option("--logprobs", completion.logprobs, "Ask for so many log-probabilities a token")
      ->check(in_range(0, 1 << 20))
      ->group(kSampling);
  for (const char* const name : {"temperature", "top-p", "top-k", "min-p", "frequency-penalty",
                                 "presence-penalty", "repetition-penalty"}) {
    std::string field = name;
    std::replace(field.begin(), field.end(), '-', '_');
    app.add_option_function<double>(
           str_cat("--", name),
           [&completion, field](double value) { completion.sampling.emplace_back(field, value); },
           str_cat("Sent as '", field, "' [the server's]"))
        ->group(kSampling);
  }
  app.add_option("--extra-body", completion.extra_body, "JSON object to put into each request")
      ->group(kSampling);
}

void add_result_flags(CLI::App& app, BenchServeOptions& options) {
  const char* const kResult = "Result";
  app.add_option("--percentile-metrics", options.percentile_metrics,
                 "What to report, of ttft, tpot, itl and e2el")
      ->capture_default_str()
      ->group(kResult);
  app.add_option("--metric-percentiles", options.metric_percentiles, "Percentiles of it")
      ->capture_default_str()
      ->group(kResult);
  app.add_option("--goodput", options.goodput,
                 "METRIC:MILLISECONDS that a good request keeps, of ttft, tpot and e2el")
      ->group(kResult);
  app.add_flag("--save-result", options.save_result, "Write the results to a JSON file")
      ->group(kResult);
  app.add_flag("--save-detailed", options.save_detailed, "With times and texts of each request")
      ->group(kResult);
  app.add_flag("--append-result", options.append_result, "Append a line to the file instead")
      ->group(kResult);
  app.add_option("--result-dir", options.result_dir, "Folder of the file [the current one]")
      ->group(kResult);
  app.add_option("--result-filename", options.result_filename,
                 "Its name [LABEL-RATEqps-MODEL-DATE.json]")
      ->group(kResult);
  app.add_option("--label", options.run.label, "What the file calls this run [the backend]")
      ->group(kResult);
  app.add_option("--metadata", options.metadata, "KEY=VALUE to write into the file")
      ->group(kResult);
  app.add_flag("--disable-tqdm", options.disable_progress, "Show no progress bar")->group(kResult);
}

// --- what they say -----------------------

Result<bench::Metric> parse_metric(std::string_view name, const char* option) {
  for (const bench::MetricInfo& info : bench::kMetrics) {
    if (info.name == name) return info.metric;
  }
  return invalid_argument(
      str_cat("--", option, ": a metric is ttft, tpot, itl or e2el, not ", tvllm::quoted(name)),
      option);
}

Status parse_metrics(BenchServeOptions& options) {
  options.run.metrics.clear();
  for (const std::string_view name : split(options.percentile_metrics, ',')) {
    TVLLM_TRY(const bench::Metric metric, parse_metric(name, "percentile-metrics"));
    options.run.metrics.push_back(metric);
  }
  options.run.metric_options.percentiles.clear();
  for (const std::string_view text : split(options.metric_percentiles, ',')) {
    const std::optional<double> percent = parse_double(text);
    if (!percent || *percent < 0.0 || *percent > 100.0) {
      return invalid_argument(
          str_cat("--metric-percentiles must be in [0, 100], got ", tvllm::quoted(text)),
          "metric-percentiles");
    }
    options.run.metric_options.percentiles.push_back(*percent);
  }
  return {};
}

Status parse_goodput(BenchServeOptions& options) {
  for (const std::string_view text : options.goodput) {
    const std::size_t colon = text.find(':');
    const std::optional<double> max_ms =
        colon == std::string_view::npos ? std::nullopt : parse_double(text.substr(colon + 1));
    if (!max_ms || *max_ms < 0.0) {
      return invalid_argument(
          str_cat("--goodput must be METRIC:MILLISECONDS, got ", tvllm::quoted(text)), "goodput");
    }
    TVLLM_TRY(const bench::Metric metric, parse_metric(text.substr(0, colon), "goodput"));
    if (metric == bench::Metric::kItl) {
      return invalid_argument("--goodput: a request has no single itl; give tpot", "goodput");
    }
    options.run.metric_options.goodput.push_back({metric, *max_ms});
  }
  return {};
}

Status settle_arrivals(BenchServeOptions& options) {
  bench::ArrivalOptions& arrivals = options.run.arrivals;
  arrivals.seed = options.prompts.seed;
  if (arrivals.ramp_up_strategy.empty()) return {};
  if (!std::isinf(arrivals.request_rate)) {
    return invalid_argument("--ramp-up-strategy and --request-rate exclude each other",
                            "request-rate");
  }
  if (arrivals.ramp_up_start_rps <= 0.0 || arrivals.ramp_up_end_rps < arrivals.ramp_up_start_rps) {
    return invalid_argument(
        str_cat("--ramp-up-strategy needs --ramp-up-start-rps above 0 and --ramp-up-end-rps not "
                "below it, got ",
                arrivals.ramp_up_start_rps, " and ", arrivals.ramp_up_end_rps),
        "ramp-up-start-rps");
  }
  return {};
}

}  // namespace

void add_bench_serve_flags(CLI::App& app, BenchServeOptions& options) {
  add_server_flags(app, options);
  add_prompt_flags(app, options.prompts);
  add_traffic_flags(app, options);
  add_generation_flags(app, options);
  add_result_flags(app, options);
}

Status settle_bench_serve(BenchServeOptions& options) {
  TVLLM_RETURN_IF_ERROR(parse_metrics(options));
  TVLLM_RETURN_IF_ERROR(parse_goodput(options));
  TVLLM_RETURN_IF_ERROR(settle_arrivals(options));
  TVLLM_TRY(options.run.metadata, parse_pairs(options.metadata, "metadata"));
  return {};
}

Result<TextPairs> parse_pairs(const std::vector<std::string>& texts, const char* option) {
  TextPairs pairs;
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0 || text.find_first_of("\r\n") != std::string::npos) {
      return invalid_argument(
          str_cat("--", option, " must be KEY=VALUE, got ", tvllm::quoted(text)), option);
    }
    pairs.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return pairs;
}

}  // namespace tvllm::cli
