// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace tvllm::server {

// Where an answer goes: the connection of the request. I/O thread only.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void send_response(HttpResponse&& response) = 0;
  virtual void begin_event_stream(const HttpHeaders& headers) = 0;
  virtual void send_events(std::string_view events) = 0;
  virtual void end_event_stream() = 0;
  virtual std::size_t num_unsent_bytes() const = 0;
};

// Where others have the status of an answer: the client was gone before there was one.
inline constexpr int kStatusClientGone = 499;

// One request and its answer, which is either one response or a stream of server-sent events.
// Shared by the connection and whoever answers, which may be much later; a connection that is gone
// first makes every call a no-op. I/O thread only.
//
//   kWaiting --respond()--> kAnswered          kWaiting, kStreaming --abandon()--> kGone
//       \---begin_stream()--> kStreaming --end_stream()--> kAnswered
class Exchange {
 public:
  Exchange(HttpRequest request, AnswerSink& sink) : request_(std::move(request)), sink_(&sink) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const { return request_; }
  HttpRequest& mutable_request() { return request_; }
  // Goes with every answer: CORS and the like.
  void add_header(std::string name, std::string value);

  void respond(HttpResponse response);

  void begin_stream();
  // Text of whole events ("data: ...\n\n") that the next flush() sends.
  std::string& events() { return events_; }
  void flush();
  void end_stream();
  // What the client has not taken of the stream, beside what the kernel holds for it.
  std::size_t num_unsent_bytes() const { return sink_ == nullptr ? 0 : sink_->num_unsent_bytes(); }

  // The client left, or reads too slowly, before the answer was complete.
  bool client_gone() const { return state_ == State::kGone; }
  // Called once, then; never after the answer is complete.
  void on_client_gone(std::function<void()> callback) { gone_callback_ = std::move(callback); }

  // Called once, when the answer is complete, with its status, or when the client is gone first.
  void on_end(std::function<void(int status)> callback) { end_callback_ = std::move(callback); }

  bool answered() const { return state_ == State::kAnswered; }
  bool streaming() const { return state_ == State::kStreaming; }

  // For the connection: the client is gone.
  void abandon();

 private:
  enum class State { kWaiting, kStreaming, kAnswered, kGone };

  void finish(State state, int status);

  HttpRequest request_;
  HttpHeaders headers_;
  std::string events_;
  State state_ = State::kWaiting;
  AnswerSink* sink_;  // the connection: outlives this use of it, since it calls abandon() first
  std::function<void()> gone_callback_;
  std::function<void(int)> end_callback_;
};

}  // namespace tvllm::server
