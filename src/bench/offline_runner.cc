// SPDX-License-Identifier: Apache-2.0
#include "bench/offline_runner.h"

#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "bench/start_gate.h"
#include "core/token_event.h"
#include "output/output_processor.h"

namespace tvllm::bench {

namespace {

constexpr std::chrono::seconds kWait(1);

// One request that has not ended.
struct Live {
  std::size_t index = 0;
  std::unique_ptr<output::OutputProcessor> processor;  // null: tokens alone
  bool has_token = false;
};

}  // namespace

Result<OfflineRun> OfflineRunner::run(engine::EngineClient& engine,
                                      std::span<const std::shared_ptr<const Request>> requests,
                                      const OfflineOptions& options) {
  const Clock& clock = steady_clock();
  OfflineRun run;
  run.first_token_seconds.resize(requests.size());
  std::unordered_map<SeqId, Live> live;
  live.reserve(requests.size());

  StartGate gate;
  TVLLM_RETURN_IF_ERROR(StartGate::close(engine, gate));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    TVLLM_TRY(const SeqId seq_id, engine.submit(requests[i], events_));
    Live& sequence = live[seq_id];
    sequence.index = i;
    run.num_prompt_tokens += static_cast<std::int64_t>(requests[i]->prompt_token_ids.size());
    if (options.detokenizer != nullptr) {
      sequence.processor =
          std::make_unique<output::OutputProcessor>(*options.detokenizer, output::OutputOptions{});
    }
  }
  if (options.on_start) options.on_start();
  const TimePoint start = clock.now();
  gate.open();
  while (!live.empty()) {
    std::vector<TokenEvent> events = events_.take_until(clock.now() + kWait);
    const TimePoint now = clock.now();
    for (TokenEvent& event : events) {
      const auto found = live.find(event.seq_id);
      if (found == live.end()) continue;  // of an earlier run that failed
      if (event.finish_reason == FinishReason::kError) {
        return make_error(ErrorCode::kInternal, event.error_message);
      }
      Live& sequence = found->second;
      if (event.token_id != kNoToken) {
        ++run.num_output_tokens;
        if (!std::exchange(sequence.has_token, true)) {
          run.first_token_seconds[sequence.index] = to_seconds(now - start);
        }
      }
      const bool has_ended = event.finish_reason != FinishReason::kNone;
      if (sequence.processor) sequence.processor->process(std::move(event));
      if (!has_ended) continue;
      live.erase(found);
      if (options.on_finished) options.on_finished();
    }
    if (options.on_events && !events.empty()) options.on_events();
  }
  run.seconds = to_seconds(clock.now() - start);
  return run;
}

}  // namespace tvllm::bench
