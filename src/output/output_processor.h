// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "core/token_event.h"
#include "output/logprob_aligner.h"
#include "output/stop_matcher.h"
#include "tokenizer/detokenizer.h"

namespace tvllm::output {

// How one choice becomes text. Names and meanings are vLLM's.
struct OutputOptions {
  bool skip_special_tokens = true;
  std::vector<std::string> stop = {};  // passed check_stop_strings
  // Shows the stop string that ended the answer, and the text of a stop token.
  bool include_stop_str_in_output = false;
  std::int32_t min_tokens = 0;  // a stop string that ends within the first so many is passed over
  bool detokenize = true;       // false: tokens alone, no text, no stop strings
};

// What ended an answer with FinishReason::kStop: nothing for EOS, a stop string, a stop token id.
using StopReason = std::variant<std::monostate, std::string, TokenId>;

// What a client gets to see after an event. A value.
struct OutputDelta {
  std::string text;                // valid UTF-8, whole characters
  std::vector<TokenPiece> tokens;  // whose text is now shown in full
  std::vector<PositionLogprobs> prompt_logprobs;

  FinishReason finish_reason = FinishReason::kNone;
  StopReason stop_reason;
  // A stop string ended the answer and the engine does not know: the caller cancels the sequence.
  bool should_cancel = false;
  std::string error_message;

  std::int32_t num_output_tokens = 0;  // so far, all that were sampled: also EOS, also held ones
  std::int32_t num_cached_tokens = 0;

  bool has_content() const { return !text.empty() || !tokens.empty(); }
};

// Turns the engine's token events of one choice into what its client sees. One per choice, owned by
// the front end's side of the request. Thread-compatible: on the I/O thread for HTTP, on the
// caller's for the command line.
//
// Held back is only what more tokens may change: an incomplete character, and the longest end of
// the text that begins a stop string; tokens wait until their last byte is shown. The token that
// ends an answer, EOS or a stop token, has no text unless include_stop_str_in_output, but is among
// the tokens.
//
// Invariants: (1) the text so far is a prefix of the final text; (2) no byte of a stop string that
// ended the answer, and none behind it, was shown; (3) after the end num_output_tokens tokens have
// been handed out, up to the one that completed the stop string; (4) text, tokens and the end do
// not depend on how events fell into steps.
class OutputProcessor {
 public:
  // `tokenizer` outlives the processor and the pieces it hands out.
  OutputProcessor(const tokenizer::Tokenizer& tokenizer, OutputOptions options);

  // What comes after the end, while a cancellation is on its way, is ignored: an empty delta with
  // the final count.
  OutputDelta process(TokenEvent&& event);

  bool is_finished() const { return finished_; }
  std::int32_t num_output_tokens() const { return num_output_tokens_; }

 private:
  std::string add_token(TokenEvent& event);
  void add_text(const std::string& text);
  void end_at(const StopMatcher::Match& match, bool engine_ended, OutputDelta& delta);
  void release(OutputDelta& delta);

  const tokenizer::Tokenizer* tokenizer_;
  const OutputOptions options_;
  tokenizer::Detokenizer detokenizer_;
  StopMatcher matcher_;
  LogprobAligner aligner_;
  std::string held_text_;      // decoded, not yet shown
  std::size_t shown_len_ = 0;  // bytes of text before it
  std::size_t num_bytes_ = 0;  // of all tokens that are shown as text
  std::size_t num_chars_ = 0;  // decoded
  std::int32_t num_output_tokens_ = 0;
  bool finished_ = false;
};

// The text of a token alone, as in TokenPiece::text: for the alternatives among log-probabilities.
std::string lossy_token_text(const tokenizer::Tokenizer& tokenizer, TokenId id);

}  // namespace tvllm::output
