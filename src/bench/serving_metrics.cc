// SPDX-License-Identifier: Apache-2.0
#include "bench/serving_metrics.h"

#include <algorithm>

#include "bench/statistics.h"

namespace tvllm::bench {

namespace {

constexpr double kMs = 1e3;

// Of a request that gave less than two tokens it is 0, which counts for goodput alone.
double tpot_of(const RequestOutcome& outcome) {
  if (outcome.num_output_tokens < 2) return 0.0;
  return (outcome.latency - outcome.ttft) / static_cast<double>(outcome.num_output_tokens - 1);
}

bool is_good(const RequestOutcome& outcome, std::span<const Goodput> bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [&outcome](const Goodput& bound) {
    const double seconds = bound.metric == Metric::kTtft   ? outcome.ttft
                           : bound.metric == Metric::kTpot ? tpot_of(outcome)
                                                           : outcome.latency;
    return kMs * seconds <= bound.max_ms;
  });
}

Spread spread_of(std::vector<double> values, std::span<const double> percents) {
  for (double& value : values)
    value *= kMs;
  return {.mean = mean(values),
          .median = percentile(values, 50.0),
          .deviation = standard_deviation(values),
          .percentiles = percentiles(values, percents)};
}

std::int64_t most_at_once(std::span<const RequestOutcome> outcomes) {
  std::vector<std::pair<double, int>> changes;  // an end comes before a start at the same time
  for (const RequestOutcome& outcome : outcomes) {
    if (!outcome.success) continue;
    changes.emplace_back(outcome.start, 1);
    changes.emplace_back(outcome.start + outcome.latency, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [time, change] : changes) {
    now += change;
    most = std::max(most, now);
  }
  return most;
}

// Seconds count from the first request that succeeded.
double best_second(std::span<const RequestOutcome> outcomes) {
  std::vector<double> times;
  double first_start = 0.0;
  bool has_start = false;
  for (const RequestOutcome& outcome : outcomes) {
    if (!outcome.success) continue;
    first_start = has_start ? std::min(first_start, outcome.start) : outcome.start;
    has_start = true;
    double time = outcome.start + outcome.ttft;
    times.push_back(time);
    for (const double itl : outcome.itls)
      times.push_back(time += itl);
  }
  std::vector<double> by_second;
  for (const double time : times) {
    const auto second = static_cast<std::size_t>(std::max(0.0, time - first_start));
    if (by_second.size() <= second) by_second.resize(second + 1);
    by_second[second] += 1.0;
  }
  return by_second.empty() ? 0.0 : *std::max_element(by_second.begin(), by_second.end());
}

}  // namespace

ServingMetrics serving_metrics(std::span<const RequestOutcome> outcomes, double duration,
                               const MetricOptions& options) {
  ServingMetrics metrics;
  metrics.duration = duration;
  std::array<std::vector<double>, kMetrics.size()> values;
  auto& [ttfts, tpots, itls, e2els] = values;
  std::int64_t num_good = 0;
  for (const RequestOutcome& outcome : outcomes) {
    if (!outcome.success) {
      ++metrics.num_failed;
      continue;
    }
    ++metrics.num_completed;
    metrics.num_input_tokens += outcome.num_prompt_tokens;
    metrics.num_output_tokens += outcome.num_output_tokens;
    ttfts.push_back(outcome.ttft);
    if (outcome.num_output_tokens > 1) tpots.push_back(tpot_of(outcome));
    itls.insert(itls.end(), outcome.itls.begin(), outcome.itls.end());
    e2els.push_back(outcome.latency);
    if (is_good(outcome, options.goodput)) ++num_good;
  }
  const auto per_second = [duration](std::int64_t count) {
    return duration > 0.0 ? static_cast<double>(count) / duration : 0.0;
  };
  metrics.request_throughput = per_second(metrics.num_completed);
  metrics.request_goodput = per_second(num_good);
  metrics.output_throughput = per_second(metrics.num_output_tokens);
  metrics.total_token_throughput = per_second(metrics.num_input_tokens + metrics.num_output_tokens);
  metrics.max_output_tokens_per_s = best_second(outcomes);
  metrics.max_concurrent_requests = most_at_once(outcomes);
  for (std::size_t i = 0; i < values.size(); ++i)
    metrics.spreads_ms[i] = spread_of(std::move(values[i]), options.percentiles);
  return metrics;
}

}  // namespace tvllm::bench
