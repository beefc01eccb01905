// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "core/sequence_times.h"
#include "core/token_event.h"
#include "server/metrics.h"
#include "server/openai/request_builder.h"

namespace tvllm::server {

// Tells the metrics what becomes of one request's choices: each ends once, with what its client was
// told, or with the engine's word when the client had left. I/O thread only; owned by the request's
// Generation.
class GenerationRecorder {
 public:
  // `metrics` outlives the recorder.
  GenerationRecorder(const PreparedRequest& prepared, Metrics& metrics);

  void on_event(std::size_t choice, const TokenEvent& event, TimePoint now);
  // kNone, and a second end, are ignored.
  void on_end(std::size_t choice, FinishReason reason, TimePoint now);

 private:
  struct Choice {
    SequenceTimes times = {};
    std::int32_t num_output_tokens = 0;
    std::int32_t num_cached_tokens = 0;
    bool ended = false;
  };
  struct Prompt {
    std::int32_t num_tokens = 0;
    std::int32_t max_tokens = 0;
    std::size_t num_open = 0;  // choices
    std::int32_t max_num_output_tokens = 0;
  };

  Metrics& metrics_;
  const std::size_t n_;  // choices of a prompt
  const TimePoint arrival_;
  std::vector<Choice> choices_;
  std::vector<Prompt> prompts_;
};

}  // namespace tvllm::server
