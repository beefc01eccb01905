// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/serving_metrics.h"

namespace tvllm::bench {

// Follows the events of one streamed answer, of /v1/completions or /v1/chat/completions, and keeps
// when its text came. A piece of text may be more than one token; how many tokens there were is the
// server's word (`usage`), or else the number of pieces. Thread-compatible.
//
// Unlike vLLM's client it counts pieces with text alone: the chunk that only tells the role or the
// end of an answer is no token. Of an answer without text, which is an end token, the end counts.
class CompletionStream {
 public:
  // Writes into `outcome`, which outlives it and whose `start` is set.
  explicit CompletionStream(RequestOutcome& outcome) : outcome_(outcome) {}

  // The data of one event, that came at `now` on the clock of outcome.start.
  void take_in(std::string_view data, double now);

  // The answer's body is complete: it succeeded, or `error` says what was missing.
  void finish();

 private:
  void fail(std::string error);
  void add_text(std::string_view text, double now);

  RequestOutcome& outcome_;
  double last_text_ = 0.0;
  std::optional<double> last_choice_;  // when an event of the answer itself came
  std::int64_t num_pieces_ = 0;
  bool is_done_ = false;
};

// The sentence of an error body of the API, {"error": {"message": ...}}; else the body's beginning.
std::string error_sentence(std::string_view body);

}  // namespace tvllm::bench
