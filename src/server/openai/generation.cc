// SPDX-License-Identifier: Apache-2.0
#include "server/openai/generation.h"

#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "server/openai/api_error.h"
#include "server/openai/generation_hub.h"

namespace tvllm::server {

using output::OutputDelta;

Generation::Generation(PreparedRequest prepared, std::shared_ptr<Exchange> exchange,
                       GenerationHub& hub)
    : prepared_(std::move(prepared)),
      exchange_(std::move(exchange)),
      hub_(hub),
      writer_(make_answer_writer(prepared_.form, hub.tokenizer(), exchange_)),
      recorder_(prepared_, hub.metrics()) {
  choices_.reserve(prepared_.requests.size());
  for (std::size_t i = 0; i < prepared_.requests.size(); ++i)
    choices_.push_back({{}, false, {hub.tokenizer(), prepared_.output}});
}

void Generation::start() {
  num_open_ = choices_.size();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Result<SeqId> seq_id = hub_.submit(prepared_.requests[i], shared_from_this(), i);
    if (!seq_id) {
      hub_.release_unsubmitted(choices_.size() - i);
      fail(seq_id.error());
      return;
    }
    choices_[i].seq_id = *seq_id;
    choices_[i].in_engine = true;
  }
  exchange_->on_client_gone([self = shared_from_this()] {
    self->state_ = State::kAbandoned;
    self->cancel_sequences();
  });
  writer_->begin();
}

void Generation::on_event(std::size_t index, TokenEvent&& event, TimePoint now) {
  Choice& choice = choices_[index];
  recorder_.on_event(index, event, now);
  if (event.finish_reason != FinishReason::kNone) choice.in_engine = false;
  if (state_ != State::kRunning) return recorder_.on_end(index, event.finish_reason, now);
  const bool had_ended = choice.processor.is_finished();
  OutputDelta delta = choice.processor.process(std::move(event));
  if (had_ended) return;
  recorder_.on_end(index, delta.finish_reason, now);
  if (delta.should_cancel && choice.in_engine) hub_.cancel(choice.seq_id);
  if (delta.finish_reason == FinishReason::kError) {
    fail(make_error(ErrorCode::kInternal,
                    delta.error_message.empty() ? "The engine failed" : delta.error_message));
    return;
  }
  if (delta.finish_reason == FinishReason::kAbort && !prepared_.form.stream) {
    // Half an answer would pass for a whole one.
    fail(make_error(ErrorCode::kUnavailable, "The server is shutting down"));
    return;
  }
  if (prepared_.form.echo_only && delta.finish_reason == FinishReason::kStop) {
    delta.finish_reason = FinishReason::kLength;  // the one token is nobody's
    delta.stop_reason = {};
  }
  const bool ends = delta.finish_reason != FinishReason::kNone;
  writer_->add(index, std::move(delta));
  if (!ends || --num_open_ > 0) return;
  state_ = State::kAnswered;
  writer_->finish();
}

void Generation::flush() {
  awaits_flush_ = false;
  if (state_ == State::kRunning) writer_->flush();
}

void Generation::cancel_sequences() {
  for (const Choice& choice : choices_) {
    if (choice.in_engine) hub_.cancel(choice.seq_id);
  }
}

void Generation::fail(const Error& error) {
  state_ = State::kAnswered;
  if (error.code == ErrorCode::kInternal) {
    log_error(str_cat("request ", prepared_.form.id, " failed: ", error.message));
  }
  writer_->fail(error);
  cancel_sequences();
}

}  // namespace tvllm::server
