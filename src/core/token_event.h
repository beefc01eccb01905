// SPDX-License-Identifier: Apache-2.0
// What crosses the wall from the engine back to a client.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/sequence_times.h"
#include "core/step_result.h"

namespace tvllm {

enum class FinishReason {
  kNone,    // goes on
  kStop,    // EOS, a stop token id or (set by the client's side) a stop string
  kLength,  // max_tokens or the model's length
  kAbort,   // cancelled
  kError,   // failed; `error_message` says why
};

// One step's news of one sequence. A value.
struct TokenEvent {
  SeqId seq_id;
  TokenId token_id = kNoToken;  // kNoToken: no token, only prompt log-probabilities or an end
  bool has_logprobs = false;
  PositionLogprobs logprobs;
  std::vector<PositionLogprobs> prompt_logprobs;  // in order of position; position 0 has none

  FinishReason finish_reason = FinishReason::kNone;
  // The stop token id that ended it; nothing for EOS. The stop token itself is in token_id.
  std::optional<TokenId> stop_token_id;
  std::string error_message;
  std::int32_t num_cached_tokens = 0;  // prompt tokens taken from the prefix index
  SequenceTimes times;                 // including this event
};

// Where a front end receives events: one call per step with all of its sequences' events. Called
// on the engine thread, so it must not block, run callbacks of others, or throw; the HTTP front end
// moves the events into a mailbox and wakes its I/O thread once. Outlives the engine.
class TokenEventSink {
 public:
  virtual ~TokenEventSink() = default;
  // The events may be moved from; the engine keeps the array, so that a step allocates nothing.
  virtual void publish(std::span<TokenEvent> events) noexcept = 0;
};

}  // namespace tvllm
