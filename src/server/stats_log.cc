// SPDX-License-Identifier: Apache-2.0
#include "server/stats_log.h"

#include "base/strings.h"

namespace tvllm::server {

namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string StatsLog::line(const engine::EngineStats& stats, TimePoint now) {
  const double seconds = to_seconds(now - last_);
  const std::uint64_t num_prompt = stats.num_prompt_tokens - before_.num_prompt_tokens;
  const std::uint64_t num_generated = stats.num_generated_tokens - before_.num_generated_tokens;
  const double hit_rate = share(stats.num_prefix_hits - before_.num_prefix_hits,
                                stats.num_prefix_queries - before_.num_prefix_queries);
  const double kv_usage = share(static_cast<std::uint64_t>(stats.num_used_blocks),
                                static_cast<std::uint64_t>(stats.num_blocks));
  const bool is_busy = stats.num_running + stats.num_waiting > 0;
  const bool has_news = is_busy || was_busy_ || num_prompt + num_generated > 0;
  last_ = now;
  before_ = stats;
  was_busy_ = is_busy;
  if (!has_news || seconds <= 0.0) return {};
  return str_cat("Avg prompt throughput: ", fixed(static_cast<double>(num_prompt) / seconds, 1),
                 " tokens/s, Avg generation throughput: ",
                 fixed(static_cast<double>(num_generated) / seconds, 1),
                 " tokens/s, Running: ", stats.num_running, " reqs, Waiting: ", stats.num_waiting,
                 " reqs, KV cache usage: ", fixed(100.0 * kv_usage, 1),
                 "%, Prefix cache hit rate: ", fixed(100.0 * hit_rate, 1), "%");
}

}  // namespace tvllm::server
