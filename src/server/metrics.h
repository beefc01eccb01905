// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "core/sequence_times.h"
#include "core/token_event.h"
#include "engine/engine_client.h"
#include "server/served_model.h"

namespace tvllm::server {

// One choice of a request, once it has ended.
struct FinishedChoice {
  FinishReason reason = FinishReason::kNone;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_cached_tokens = 0;
  std::int32_t num_output_tokens = 0;
  std::int32_t max_tokens = 0;
  Duration since_arrival = {};  // of the request at the front end
  SequenceTimes times = {};
};

// What GET /metrics shows, by vLLM's names, in Prometheus' text format 0.0.4. The front end tells
// what only it sees: arrivals, ends, HTTP; the rest is a snapshot of the engine. The door of
// prometheus-cpp. I/O thread only.
//
// An observation costs about 20 ns, so every gap between two tokens is one.
class Metrics {
 public:
  // Histograms of token counts end at `max_model_len`.
  Metrics(const std::string& model_name, std::int32_t max_model_len, const CacheInfo& cache);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void add_first_token(Duration since_arrival);
  void add_token_gap(Duration gap);
  // Histograms take what ended by itself, with kStop or kLength: how long a client stayed, or how
  // far a failure got, is no latency of the server's.
  void add_choice(const FinishedChoice& choice);
  // All `n` choices of a prompt have ended; the longest has so many tokens.
  void add_prompt(std::size_t n, std::int32_t max_num_output_tokens);
  // `handler` is a route's pattern: whatever becomes a label must be one of few.
  void add_http_request(std::string_view handler, std::string_view method, int status,
                        Duration duration);

  std::string exposition(const engine::EngineStats& stats) const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tvllm::server
