// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/request.h"
#include "engine/engine_client.h"
#include "engine/event_queue.h"

namespace tvllm::tokenizer {
class Tokenizer;
}
namespace tvllm::trace {
class TraceRing;
}

namespace tvllm::bench {

struct OfflineOptions {
  // Turns what comes into text, as a front end does; null: tokens alone.
  const tokenizer::Tokenizer* detokenizer = nullptr;
  std::function<void()> on_start = {};     // all are submitted, and the engine is about to begin
  std::function<void()> on_events = {};    // after events came, some times a step
  std::function<void()> on_finished = {};  // after each request
};

// What one call of run() saw.
struct OfflineRun {
  double seconds = 0.0;
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_output_tokens = 0;
  std::vector<double> first_token_seconds = {};  // of each request, from the start
};

// Hands requests to an idle engine in this process, all at once, and waits for their ends.
// Thread-compatible. Outlives the engine: after an error events may still be on their way.
class OfflineRunner {
 public:
  // A request that fails fails the run.
  Result<OfflineRun> run(engine::EngineClient& engine,
                         std::span<const std::shared_ptr<const Request>> requests,
                         const OfflineOptions& options);

 private:
  engine::EventQueue events_;
};

// What a benchmark of an engine in this process stands on. The runner outlives the engine, whose
// trace goes to `ring`.
struct OfflineSetup {
  engine::EngineClient& engine;
  const tokenizer::Tokenizer& tokenizer;
  const trace::TraceRing& ring;
  OfflineRunner& runner;
};

}  // namespace tvllm::bench
