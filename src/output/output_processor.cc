// SPDX-License-Identifier: Apache-2.0
#include "output/output_processor.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace tvllm::output {

namespace {

std::size_t count_chars(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80;  // no continuation byte
  }));
}

}  // namespace

std::string lossy_token_text(const tokenizer::Tokenizer& tokenizer, TokenId id) {
  return to_valid_utf8(tokenizer.token_bytes(id));
}

OutputProcessor::OutputProcessor(const tokenizer::Tokenizer& tokenizer, OutputOptions options)
    : tokenizer_(&tokenizer),
      options_(std::move(options)),
      detokenizer_(tokenizer, options_.skip_special_tokens),
      matcher_(options_.detokenize ? options_.stop : std::vector<std::string>()) {}

OutputDelta OutputProcessor::process(TokenEvent&& event) {
  OutputDelta delta;
  delta.num_output_tokens = num_output_tokens_;
  if (finished_) return delta;
  delta.prompt_logprobs = std::move(event.prompt_logprobs);
  delta.num_cached_tokens = event.num_cached_tokens;

  std::string text;
  if (event.token_id != kNoToken) text = add_token(event);
  const bool engine_ended = event.finish_reason != FinishReason::kNone;
  if (engine_ended) text += detokenizer_.flush();
  add_text(text);

  // A stop string in the last token's text outweighs the engine's reason, as in vLLM; a failed or
  // cancelled answer stays one.
  const bool failed =
      event.finish_reason == FinishReason::kAbort || event.finish_reason == FinishReason::kError;
  const bool may_match = !failed && num_output_tokens_ > options_.min_tokens;
  if (const std::optional<StopMatcher::Match> match = matcher_.feed(text, may_match)) {
    end_at(*match, engine_ended, delta);
  } else if (engine_ended) {
    delta.finish_reason = event.finish_reason;
    delta.error_message = std::move(event.error_message);
    if (event.stop_token_id) delta.stop_reason = *event.stop_token_id;
  }
  finished_ = delta.finish_reason != FinishReason::kNone;
  release(delta);
  delta.num_output_tokens = num_output_tokens_;
  return delta;
}

// The text that the event's token completes.
std::string OutputProcessor::add_token(TokenEvent& event) {
  ++num_output_tokens_;
  const TokenId id = event.token_id;
  const bool is_end = event.finish_reason == FinishReason::kStop;
  const bool is_silent = !options_.detokenize || (is_end && !options_.include_stop_str_in_output) ||
                         (options_.skip_special_tokens && tokenizer_->is_special(id));
  TokenPiece piece;
  piece.id = id;
  piece.bytes = tokenizer_->token_bytes(id);
  piece.text = to_valid_utf8(piece.bytes);
  piece.text_offset = num_chars_;
  if (event.has_logprobs) piece.logprobs = std::move(event.logprobs);
  if (!is_silent) num_bytes_ += piece.bytes.size();
  aligner_.add(std::move(piece), num_bytes_);
  return is_silent ? std::string() : detokenizer_.push(id);
}

void OutputProcessor::add_text(const std::string& text) {
  held_text_ += text;
  num_chars_ += count_chars(text);
  aligner_.complete(num_bytes_ - detokenizer_.incomplete().size(), shown_len_ + held_text_.size());
}

void OutputProcessor::end_at(const StopMatcher::Match& match, bool engine_ended,
                             OutputDelta& delta) {
  const std::size_t end = options_.include_stop_str_in_output ? match.end : match.begin;
  held_text_.resize(end - shown_len_);
  delta.finish_reason = FinishReason::kStop;
  delta.stop_reason = options_.stop[match.stop_idx];
  delta.should_cancel = !engine_ended;
}

void OutputProcessor::release(OutputDelta& delta) {
  if (finished_) {
    delta.text = std::exchange(held_text_, {});
    shown_len_ += delta.text.size();
    aligner_.release_all(delta.tokens);
    return;
  }
  // Where the stop string is shown too, all text before its end is.
  const std::size_t held_len = options_.include_stop_str_in_output ? 0 : matcher_.held_len();
  const std::size_t num_shown = held_text_.size() - held_len;
  delta.text = held_text_.substr(0, num_shown);
  held_text_.erase(0, num_shown);
  shown_len_ += num_shown;
  aligner_.release(shown_len_, delta.tokens);
}

}  // namespace tvllm::output
