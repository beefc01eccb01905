// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/process_stats.h"

namespace tvllm::server {

using prometheus::ClientMetric;
using prometheus::Histogram;
using prometheus::Labels;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Borders = Histogram::BucketBoundaries;

namespace {

// Borders are vLLM's, so that dashboards and alerts for it work.
const Borders kFirstTokenBorders = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06,  0.08, 0.1,
                                    0.25,  0.5,   0.75, 1.0,  2.5,  5.0,   7.5,  10.0,
                                    20.0,  40.0,  80.0, 160., 640., 2560.0};
const Borders kGapBorders = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                             0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
const Borders kLatencyBorders = {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,
                                 5.0,  10.0, 15.0, 20.0, 30.0,  40.0,  50.0,
                                 60.0, 120., 240., 480., 960.0, 1920., 7680.0};
const Borders kChoiceBorders = {1, 2, 5, 10, 20};
const Borders kHttpBorders = {0.1, 0.5, 1.0};

// 1, 2, 5, 10, 20, 50, ... up to `max`.
Borders token_count_borders(std::int32_t max) {
  Borders borders;
  for (std::int64_t decade = 1;; decade *= 10) {
    for (const std::int64_t border : {decade, 2 * decade, 5 * decade}) {
      if (border > max) return borders;
      borders.push_back(static_cast<double>(border));
    }
  }
}

std::string_view known_method(std::string_view method) {
  static constexpr std::array<std::string_view, 7> kKnown = {"GET", "POST",   "HEAD", "OPTIONS",
                                                             "PUT", "DELETE", "PATCH"};
  const auto* const found = std::find(kKnown.begin(), kKnown.end(), method);
  return found == kKnown.end() ? std::string_view("other") : *found;
}

const char* python_bool(bool value) {
  return value ? "True" : "False";  // as in vLLM's labels
}

}  // namespace

struct Metrics::Impl {
  Impl(const std::string& model_name, std::int32_t max_model_len, CacheInfo cache_info)
      : labels{{"model_name", model_name}, {"engine", "0"}},
        cache(std::move(cache_info)),
        length_borders(token_count_borders(max_model_len)) {}

  Histogram& histogram(const std::string& name, const std::string& help, const Borders& borders) {
    return prometheus::BuildHistogram().Name(name).Help(help).Labels(labels).Register(registry).Add(
        {}, borders);
  }
  prometheus::Counter& ended(const char* reason) {
    return successes.Add({{"finished_reason", reason}});
  }
  prometheus::Counter* ended(FinishReason reason);

  void append_engine(std::vector<MetricFamily>& families, const engine::EngineStats& stats) const;
  void append_steps(std::vector<MetricFamily>& families, const engine::StepTotals& totals) const;

  prometheus::Registry registry;
  const Labels labels;
  const CacheInfo cache;
  const Borders length_borders;

  Histogram& first_token =
      histogram("vllm:time_to_first_token_seconds", "From a request's arrival to its first token.",
                kFirstTokenBorders);
  Histogram& gap = histogram("vllm:inter_token_latency_seconds", "Between two tokens of a request.",
                             kGapBorders);
  Histogram& time_per_token =
      histogram("vllm:request_time_per_output_token_seconds",
                "Mean time per output token of a request, the first one apart.", kGapBorders);
  Histogram& latency = histogram("vllm:e2e_request_latency_seconds",
                                 "From a request's arrival to its end.", kLatencyBorders);
  Histogram& queue_time = histogram("vllm:request_queue_time_seconds",
                                    "Time a request waited to be scheduled.", kLatencyBorders);
  Histogram& prefill_time = histogram("vllm:request_prefill_time_seconds",
                                      "From being scheduled to the first token.", kLatencyBorders);
  Histogram& decode_time = histogram("vllm:request_decode_time_seconds",
                                     "From the first to the last token.", kLatencyBorders);
  Histogram& inference_time = histogram("vllm:request_inference_time_seconds",
                                        "From being scheduled to the last token.", kLatencyBorders);
  Histogram& prompt_tokens =
      histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", length_borders);
  Histogram& computed_tokens =
      histogram("vllm:request_prefill_kv_computed_tokens",
                "Prompt tokens of a request that no cached block held.", length_borders);
  Histogram& generation_tokens =
      histogram("vllm:request_generation_tokens", "Output tokens of a request.", length_borders);
  Histogram& max_generation_tokens =
      histogram("vllm:request_max_num_generation_tokens",
                "Output tokens of the longest choice of a request.", length_borders);
  Histogram& params_n =
      histogram("vllm:request_params_n", "The parameter n of requests.", kChoiceBorders);
  Histogram& params_max_tokens = histogram("vllm:request_params_max_tokens",
                                           "The parameter max_tokens of requests.", length_borders);

  prometheus::Family<prometheus::Counter>& successes =
      prometheus::BuildCounter()
          .Name("vllm:request_success_total")
          .Help("Requests that have ended, by reason.")
          .Labels(labels)
          .Register(registry);
  prometheus::Counter& stopped = ended("stop");
  prometheus::Counter& too_long = ended("length");
  prometheus::Counter& aborted = ended("abort");
  prometheus::Counter& failed = ended("error");

  prometheus::Family<prometheus::Counter>& http_requests =
      prometheus::BuildCounter()
          .Name("http_requests_total")
          .Help("HTTP requests by handler, method and status.")
          .Register(registry);
  prometheus::Family<Histogram>& http_durations =
      prometheus::BuildHistogram()
          .Name("http_request_duration_seconds")
          .Help("From a request's header to the end of its answer.")
          .Register(registry);
};

prometheus::Counter* Metrics::Impl::ended(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return nullptr;
    case FinishReason::kStop:
      return &stopped;
    case FinishReason::kLength:
      return &too_long;
    case FinishReason::kAbort:
      return &aborted;
    case FinishReason::kError:
      return &failed;
  }
  return nullptr;
}

Metrics::Metrics(const std::string& model_name, std::int32_t max_model_len, const CacheInfo& cache)
    : impl_(std::make_unique<Impl>(model_name, max_model_len, cache)) {}

Metrics::~Metrics() = default;

void Metrics::add_first_token(Duration since_arrival) {
  impl_->first_token.Observe(to_seconds(since_arrival));
}

void Metrics::add_token_gap(Duration gap) {
  impl_->gap.Observe(to_seconds(gap));
}

void Metrics::add_choice(const FinishedChoice& choice) {
  if (prometheus::Counter* counter = impl_->ended(choice.reason)) counter->Increment();
  const SequenceTimes& times = choice.times;
  const bool is_complete =
      choice.reason == FinishReason::kStop || choice.reason == FinishReason::kLength;
  if (!is_complete || times.first_token == TimePoint{}) return;
  const double decode_s = to_seconds(times.last_token - times.first_token);
  impl_->latency.Observe(to_seconds(choice.since_arrival));
  impl_->queue_time.Observe(to_seconds(times.scheduled - times.queued));
  impl_->prefill_time.Observe(to_seconds(times.first_token - times.scheduled));
  impl_->decode_time.Observe(decode_s);
  impl_->inference_time.Observe(to_seconds(times.last_token - times.scheduled));
  if (choice.num_output_tokens > 1) {
    impl_->time_per_token.Observe(decode_s / (choice.num_output_tokens - 1));
  }
  impl_->prompt_tokens.Observe(choice.num_prompt_tokens);
  impl_->computed_tokens.Observe(choice.num_prompt_tokens - choice.num_cached_tokens);
  impl_->generation_tokens.Observe(choice.num_output_tokens);
  impl_->params_max_tokens.Observe(choice.max_tokens);
}

void Metrics::add_prompt(std::size_t n, std::int32_t max_num_output_tokens) {
  impl_->params_n.Observe(static_cast<double>(n));
  impl_->max_generation_tokens.Observe(max_num_output_tokens);
}

void Metrics::add_http_request(std::string_view handler, std::string_view method, int status,
                               Duration duration) {
  Labels labels = {{"handler", std::string(handler)},
                   {"method", std::string(known_method(method))}};
  impl_->http_durations.Add(labels, kHttpBorders).Observe(to_seconds(duration));
  labels.emplace("status", str_cat(status / 100, "xx"));
  impl_->http_requests.Add(labels).Increment();
}

namespace {

// A family with one value for each of `labels`, or one without labels of its own.
class FamilyBuilder {
 public:
  FamilyBuilder(std::vector<MetricFamily>& families, const Labels& common)
      : families_(families), common_(common) {}

  void gauge(const std::string& name, const std::string& help, double value) {
    start(name, help, MetricType::Gauge);
    more({}, value);
  }
  void counter(const std::string& name, const std::string& help, double value) {
    start(name, help, MetricType::Counter);
    more({}, value);
  }
  void start(const std::string& name, const std::string& help, MetricType type) {
    families_.push_back({name, help, type, {}});
  }
  void more(const Labels& labels, double value) {
    ClientMetric metric = labelled(labels);
    metric.gauge.value = value;
    metric.counter.value = value;
    families_.back().metric.push_back(std::move(metric));
  }
  ClientMetric labelled(const Labels& labels) const {
    Labels all = labels;
    all.insert(common_.begin(), common_.end());
    ClientMetric metric;
    for (const auto& [name, value] : all)
      metric.label.push_back({name, value});
    return metric;
  }

 private:
  std::vector<MetricFamily>& families_;
  const Labels& common_;
};

void append_process(std::vector<MetricFamily>& families) {
  const ProcessStats stats = read_process_stats();
  const Labels none;
  FamilyBuilder build(families, none);
  build.counter("process_cpu_seconds_total", "User and system CPU time.", stats.cpu_seconds);
  build.gauge("process_resident_memory_bytes", "Resident memory.",
              static_cast<double>(stats.resident_bytes));
  build.gauge("process_virtual_memory_bytes", "Virtual memory.",
              static_cast<double>(stats.virtual_bytes));
  build.gauge("process_open_fds", "Open files.", static_cast<double>(stats.num_open_files));
  build.gauge("process_max_fds", "Most files that may be open.",
              static_cast<double>(stats.max_open_files));
  build.gauge("process_start_time_seconds", "Start of the process since 1970.",
              stats.start_time_seconds);
}

}  // namespace

void Metrics::Impl::append_engine(std::vector<MetricFamily>& families,
                                  const engine::EngineStats& stats) const {
  FamilyBuilder build(families, labels);
  build.gauge("vllm:num_requests_running", "Requests in the steps.", stats.num_running);
  build.gauge("vllm:num_requests_waiting", "Requests that wait to be scheduled.",
              stats.num_waiting);
  build.start("vllm:num_requests_waiting_by_reason", "Requests that wait, by reason.",
              MetricType::Gauge);
  build.more({{"reason", "capacity"}}, stats.num_waiting);
  build.more({{"reason", "deferred"}}, 0);

  const std::int32_t num_blocks = stats.num_blocks;
  build.gauge("vllm:kv_cache_usage_perc", "Blocks in use. 1 means all.",
              num_blocks == 0 ? 0.0 : static_cast<double>(stats.num_used_blocks) / num_blocks);
  build.start("tiny_vllm:kv_cache_blocks",
              "Blocks that sequences use, that only hold cached prefixes, and that are empty.",
              MetricType::Gauge);
  build.more({{"state", "used"}}, stats.num_used_blocks);
  build.more({{"state", "cached"}}, stats.num_cached_blocks);
  build.more({{"state", "free"}}, num_blocks - stats.num_used_blocks - stats.num_cached_blocks);
  build.start("vllm:cache_config_info", "Settings of the KV cache.", MetricType::Gauge);
  build.more({{"block_size", std::to_string(cache.block_size)},
              {"cache_dtype", cache.dtype},
              {"enable_prefix_caching", python_bool(cache.enable_prefix_caching)},
              {"num_gpu_blocks", std::to_string(num_blocks)},
              {"prefix_caching_hash_algo", "sha256"}},
             1);

  const auto count = [&build](const std::string& name, const std::string& help,
                              std::uint64_t value) {
    build.counter(name, help, static_cast<double>(value));
  };
  count("vllm:prompt_tokens_total", "Prompt tokens, computed or cached.", stats.num_prompt_tokens);
  count("vllm:generation_tokens_total", "Output tokens.", stats.num_generated_tokens);
  count("vllm:prompt_tokens_cached_total", "Prompt tokens that cached blocks held.",
        stats.num_prefix_hits);
  count("vllm:prefix_cache_queries_total", "Tokens looked up among cached blocks.",
        stats.num_prefix_queries);
  count("vllm:prefix_cache_hits_total", "Tokens found among cached blocks.", stats.num_prefix_hits);
  count("vllm:num_preemptions_total", "Requests that lost their blocks to others.",
        stats.num_preemptions);
  count("vllm:corrupted_requests_total", "Requests whose logits were no numbers.",
        stats.num_corrupted);
}

void Metrics::Impl::append_steps(std::vector<MetricFamily>& families,
                                 const engine::StepTotals& totals) const {
  FamilyBuilder build(families, labels);
  build.start("vllm:iteration_tokens_total", "Tokens of a step.", MetricType::Histogram);
  ClientMetric metric = build.labelled({});
  std::uint64_t num_steps = 0;
  for (std::size_t i = 0; i < totals.num_steps_by_tokens.size(); ++i) {
    num_steps += totals.num_steps_by_tokens[i];
    const double border = i < engine::kStepTokenBorders.size()
                              ? engine::kStepTokenBorders[i]
                              : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({num_steps, border});
  }
  metric.histogram.sample_count = num_steps;
  metric.histogram.sample_sum = static_cast<double>(totals.num_tokens);
  families.back().metric.push_back(std::move(metric));

  build.start("tiny_vllm:step_phase_seconds_total", "Time that steps spent, by phase.",
              MetricType::Counter);
  build.more({{"phase", "schedule"}}, totals.schedule_s);
  build.more({{"phase", "build"}}, totals.build_s);
  build.more({{"phase", "forward"}}, totals.forward_s);
  build.more({{"phase", "sample"}}, totals.sample_s);
  build.more({{"phase", "apply"}}, totals.apply_s);
  build.more({{"phase", "publish"}}, totals.publish_s);
}

std::string Metrics::exposition(const engine::EngineStats& stats) const {
  std::vector<MetricFamily> families;
  impl_->append_engine(families, stats);
  impl_->append_steps(families, stats.steps);
  for (MetricFamily& family : impl_->registry.Collect())
    families.push_back(std::move(family));
  append_process(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tvllm::server
