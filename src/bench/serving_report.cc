// SPDX-License-Identifier: Apache-2.0
#include "bench/serving_report.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/strings.h"

namespace tvllm::bench {

namespace {

constexpr std::size_t kWidth = 50;
constexpr std::size_t kLabelWidth = 40;
constexpr std::size_t kValueWidth = 10;

std::string centered(std::string_view text, char fill) {
  const std::size_t num_fill = kWidth > text.size() ? kWidth - text.size() : 0;
  return str_cat(std::string(num_fill / 2, fill), text, std::string(num_fill - num_fill / 2, fill),
                 "\n");
}

std::string padded(std::string_view text, std::size_t width) {
  return str_cat(text, std::string(width > text.size() ? width - text.size() : 0, ' '));
}

// With vLLM's blanks at the end: scripts that cut columns go on working.
std::string line(std::string_view label, std::string_view value) {
  return str_cat(padded(label, kLabelWidth), " ", padded(value, kValueWidth), "\n");
}

std::string line(std::string_view label, std::int64_t value) {
  return line(label, str_cat(value));
}

std::string line(std::string_view label, double value) {
  return line(label, fixed(value, 2));
}

// "99" of 99.0, "99.9" of 99.9
std::string percent_word(double percent) {
  return str_cat(percent);
}

const Spread& spread_of(const ServingMetrics& metrics, const MetricInfo& info) {
  return metrics.spreads_ms[static_cast<std::size_t>(&info - kMetrics.data())];
}

// In the report's order, whatever the order of the option.
template <typename Use>
void for_each_selected(const ServingRun& run, const Use& use) {
  for (const MetricInfo& info : kMetrics) {
    if (std::find(run.metrics.begin(), run.metrics.end(), info.metric) != run.metrics.end())
      use(info);
  }
}

bool has_one_rate(const ServingRun& run) {
  return run.arrivals.ramp_up_strategy.empty() && !std::isinf(run.arrivals.request_rate);
}

template <typename Member>
boost::json::array collect(std::span<const RequestOutcome> outcomes, const Member& member) {
  boost::json::array out;
  for (const RequestOutcome& outcome : outcomes)
    out.emplace_back(member(outcome));
  return out;
}

void add_details(boost::json::object& json, std::span<const RequestOutcome> outcomes) {
  json["input_lens"] = collect(outcomes, [](const auto& o) { return o.num_prompt_tokens; });
  json["output_lens"] = collect(outcomes, [](const auto& o) { return o.num_output_tokens; });
  json["ttfts"] = collect(outcomes, [](const auto& o) { return o.ttft; });
  json["itls"] = collect(
      outcomes, [](const auto& o) { return boost::json::array(o.itls.begin(), o.itls.end()); });
  json["latencies"] = collect(outcomes, [](const auto& o) { return o.latency; });
  json["start_times"] = collect(outcomes, [](const auto& o) { return o.start; });
  json["queue_times"] = collect(outcomes, [](const auto& o) { return o.queue_seconds; });
  json["generated_texts"] =
      collect(outcomes, [](const auto& o) { return boost::json::value(o.text); });
  json["errors"] = collect(outcomes, [](const auto& o) { return boost::json::value(o.error); });
}

boost::json::object run_json(const ServingRun& run) {
  boost::json::object json{{"date", run.date},
                           {"endpoint_type", run.backend},
                           {"backend", run.backend},
                           {"label", nullptr},
                           {"model_id", run.model_id},
                           {"tokenizer_id", nullptr},
                           {"num_prompts", run.num_prompts}};
  if (!run.label.empty()) json["label"] = run.label;
  if (!run.tokenizer_id.empty()) json["tokenizer_id"] = run.tokenizer_id;
  for (const auto& [name, value] : run.metadata)
    json[name] = value;
  json["request_rate"] = "inf";
  if (!std::isinf(run.arrivals.request_rate)) json["request_rate"] = run.arrivals.request_rate;
  json["burstiness"] = run.arrivals.burstiness;
  json["max_concurrency"] = nullptr;
  if (run.max_concurrency) json["max_concurrency"] = *run.max_concurrency;
  if (!run.arrivals.ramp_up_strategy.empty()) {
    json["ramp_up_strategy"] = run.arrivals.ramp_up_strategy;
    json["ramp_up_start_rps"] = run.arrivals.ramp_up_start_rps;
    json["ramp_up_end_rps"] = run.arrivals.ramp_up_end_rps;
  }
  return json;
}

}  // namespace

std::string serving_report(const ServingRun& run, const ServingMetrics& metrics) {
  std::string out = centered(" Serving Benchmark Result ", '=');
  out += line("Successful requests:", metrics.num_completed);
  out += line("Failed requests:", metrics.num_failed);
  if (run.max_concurrency) {
    out += line("Maximum request concurrency:", std::int64_t{*run.max_concurrency});
  }
  if (has_one_rate(run)) out += line("Request rate configured (RPS):", run.arrivals.request_rate);
  out += line("Benchmark duration (s):", metrics.duration);
  out += line("Total input tokens:", metrics.num_input_tokens);
  out += line("Total generated tokens:", metrics.num_output_tokens);
  out += line("Request throughput (req/s):", metrics.request_throughput);
  if (!run.metric_options.goodput.empty()) {
    out += line("Request goodput (req/s):", metrics.request_goodput);
  }
  out += line("Output token throughput (tok/s):", metrics.output_throughput);
  out += line("Peak output token throughput (tok/s):", metrics.max_output_tokens_per_s);
  out += line("Peak concurrent requests:", static_cast<double>(metrics.max_concurrent_requests));
  out += line("Total token throughput (tok/s):", metrics.total_token_throughput);
  for_each_selected(run, [&](const MetricInfo& info) {
    const Spread& spread = spread_of(metrics, info);
    out += centered(info.title, '-');
    out += line(str_cat("Mean ", info.symbol, " (ms):"), spread.mean);
    out += line(str_cat("Median ", info.symbol, " (ms):"), spread.median);
    for (std::size_t i = 0; i < run.metric_options.percentiles.size(); ++i) {
      out += line(
          str_cat("P", percent_word(run.metric_options.percentiles[i]), " ", info.symbol, " (ms):"),
          spread.percentiles[i]);
    }
  });
  return out + centered("", '=');
}

std::string serving_json(const ServingRun& run, const ServingMetrics& metrics,
                         std::span<const RequestOutcome> outcomes) {
  boost::json::object json = run_json(run);
  json["duration"] = metrics.duration;
  json["completed"] = metrics.num_completed;
  json["failed"] = metrics.num_failed;
  json["total_input_tokens"] = metrics.num_input_tokens;
  json["total_output_tokens"] = metrics.num_output_tokens;
  json["request_throughput"] = metrics.request_throughput;
  json["request_goodput"] = nullptr;
  if (!run.metric_options.goodput.empty()) json["request_goodput"] = metrics.request_goodput;
  json["output_throughput"] = metrics.output_throughput;
  json["total_token_throughput"] = metrics.total_token_throughput;
  json["max_output_tokens_per_s"] = metrics.max_output_tokens_per_s;
  json["max_concurrent_requests"] = metrics.max_concurrent_requests;
  for_each_selected(run, [&](const MetricInfo& info) {
    const Spread& spread = spread_of(metrics, info);
    json[str_cat("mean_", info.name, "_ms")] = spread.mean;
    json[str_cat("median_", info.name, "_ms")] = spread.median;
    json[str_cat("std_", info.name, "_ms")] = spread.deviation;
    for (std::size_t i = 0; i < run.metric_options.percentiles.size(); ++i) {
      json[str_cat("p", percent_word(run.metric_options.percentiles[i]), "_", info.name, "_ms")] =
          spread.percentiles[i];
    }
  });
  if (!outcomes.empty()) add_details(json, outcomes);
  return boost::json::serialize(json);
}

}  // namespace tvllm::bench
