// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

// Upper borders of the histogram of tokens a step, as vLLM's.
inline constexpr std::array<std::int32_t, 13> kStepTokenBorders = {
    1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

// Over all steps since start whose results were applied.
struct StepTotals {
  // Steps by the border that is the first not below their tokens; the last one: above all. Steps
  // without tokens are left out.
  std::array<std::uint64_t, kStepTokenBorders.size() + 1> num_steps_by_tokens = {};
  std::uint64_t num_tokens = 0;
  double schedule_s = 0.0;
  double build_s = 0.0;
  double forward_s = 0.0;
  double sample_s = 0.0;
  double apply_s = 0.0;
  double publish_s = 0.0;
};

// A snapshot for /metrics and the log line. Counts of sequences, not of HTTP requests.
struct EngineStats {
  std::int32_t num_running = 0;
  std::int32_t num_waiting = 0;  // also those that the engine thread has not looked at yet
  std::int32_t num_blocks = 0;
  std::int32_t num_used_blocks = 0;
  std::int32_t num_cached_blocks = 0;
  std::uint64_t num_prompt_tokens = 0;     // since start, computed or hit
  std::uint64_t num_generated_tokens = 0;  // since start
  std::uint64_t num_preemptions = 0;
  // Of the prefix index, in tokens, first admissions alone.
  std::uint64_t num_prefix_queries = 0;
  std::uint64_t num_prefix_hits = 0;
  std::uint64_t num_corrupted = 0;  // sequences whose logits were no numbers
  std::uint64_t num_steps = 0;
  StepTotals steps = {};
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
