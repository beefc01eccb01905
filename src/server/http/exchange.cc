// SPDX-License-Identifier: Apache-2.0
#include "server/http/exchange.h"

#include <utility>

namespace tvllm::server {

void Exchange::add_header(std::string name, std::string value) {
  headers_.emplace_back(std::move(name), std::move(value));
}

void Exchange::respond(HttpResponse response) {
  if (state_ != State::kWaiting) return;
  response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  AnswerSink* sink = sink_;
  finish(State::kAnswered, response.status);
  sink->send_response(std::move(response));
}

void Exchange::begin_stream() {
  if (state_ != State::kWaiting) return;
  state_ = State::kStreaming;
  sink_->begin_event_stream(headers_);
}

void Exchange::flush() {
  if (state_ == State::kStreaming && !events_.empty()) sink_->send_events(events_);
  events_.clear();
}

void Exchange::end_stream() {
  if (state_ != State::kStreaming) return;
  flush();
  AnswerSink* sink = sink_;
  finish(State::kAnswered, 200);
  sink->end_event_stream();
}

void Exchange::abandon() {
  if (state_ != State::kWaiting && state_ != State::kStreaming) return;
  const std::function<void()> callback = std::move(gone_callback_);
  finish(State::kGone, kStatusClientGone);
  if (callback) callback();
}

void Exchange::finish(State state, int status) {
  state_ = state;
  sink_ = nullptr;
  gone_callback_ = nullptr;  // it may hold what holds this exchange
  if (const auto callback = std::exchange(end_callback_, nullptr)) callback(status);
}

}  // namespace tvllm::server
