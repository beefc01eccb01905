// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/result.h"
#include "core/request.h"
#include "core/token_event.h"

namespace tvllm::engine {

enum class EngineState {
  kLoading,
  kRunning,
  kDraining,  // no new requests; those inside are finished
  kStopped,
  kFailed,  // a step died: every request got an error event
};

// A snapshot for /metrics and the log line. Counts of sequences, not of HTTP requests.
struct EngineStats {
  std::int32_t num_running = 0;
  std::int32_t num_waiting = 0;
  std::int32_t num_blocks = 0;
  std::int32_t num_used_blocks = 0;
  std::int32_t num_cached_blocks = 0;
  std::uint64_t num_prompt_tokens = 0;     // since start, computed or hit
  std::uint64_t num_generated_tokens = 0;  // since start
  std::uint64_t num_preemptions = 0;
  // Of the prefix index, in tokens, first admissions alone.
  std::uint64_t num_prefix_queries = 0;
  std::uint64_t num_prefix_hits = 0;
  std::uint64_t num_steps = 0;
};

// The engine as every front end sees it: the HTTP server, the command line, tests. Thread-safe.
class EngineClient {
 public:
  virtual ~EngineClient() = default;

  // Hands a request to the engine thread. From then on `sink` receives its events, the last of
  // which has a finish reason. Refused with kResourceExhausted when the inbox is full, kUnavailable
  // when the engine is not running, kInvalidArgument when the request can never fit. Never blocks.
  virtual Result<SeqId> submit(std::shared_ptr<const Request> request, TokenEventSink& sink) = 0;

  // Ends a sequence; its last event then says kAbort. Harmless for one that has ended or is
  // unknown.
  virtual void cancel(SeqId seq_id) = 0;

  virtual EngineState state() const = 0;
  virtual EngineStats stats() const = 0;

  // Prompt plus output tokens that one sequence may have.
  virtual std::int32_t max_model_len() const = 0;
};

}  // namespace tvllm::engine
