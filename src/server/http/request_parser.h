// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/http/http_message.h"
#include "server/http/limits.h"

namespace tvllm::server {

// Turns bytes into one HTTP/1 request at a time, whatever pieces they come in. Does no I/O and no
// waiting. Thread-compatible. Memory grows with what was received, never with what a header says.
class RequestParser {
 public:
  enum class State {
    kNeedsMore,
    kComplete,  // take() hands it out
    kRefused,   // `refusal()` says why; the connection cannot be used any further
  };
  struct Refusal {
    int status = 400;
    Error error;
  };

  // `budget` is charged for bodies.
  RequestParser(const HttpLimits& limits, std::shared_ptr<ByteBudget> budget);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes what belongs to this request from the front of `input`; the next request's bytes stay.
  State feed(std::string& input);

  bool has_header() const;
  std::size_t num_body_bytes() const;
  // The client waits for "100 Continue" before it sends the body. True once.
  bool take_expectation();
  bool keep_alive() const;
  const Refusal& refusal() const { return refusal_; }

  // REQUIRES: feed() returned kComplete. Afterwards the parser starts the next request.
  HttpRequest take();
  void reset();

 private:
  struct Beast;

  State refuse(int status, ErrorCode code, std::string message);
  State check_header();

  const HttpLimits& limits_;  // outlives the parser: part of the server's options
  std::shared_ptr<ByteBudget> budget_;
  std::unique_ptr<Beast> beast_;
  ByteHold hold_;
  Refusal refusal_;
  bool header_checked_ = false;
  bool expects_continue_ = false;
};

}  // namespace tvllm::server
