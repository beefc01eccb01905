// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection.h"

#include <poll.h>

#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"
#include "base/strings.h"

namespace tvllm::server {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::string_view kPing = ": ping\n\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr std::size_t kKeptOutputBytes = 64 * 1024;  // capacity kept between answers

bool would_block(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

bool passed(TimePoint start, std::chrono::milliseconds limit, TimePoint now) {
  return now - start >= limit;
}

}  // namespace

Connection::Connection(Socket socket, ConnectionHost& host)
    : socket_(std::move(socket)),
      host_(host),
      wake_timer_(socket_.get_executor()),
      parser_(host.limits(), host.body_budget()),
      phase_start_(std::chrono::steady_clock::now()),
      last_output_(phase_start_) {}

void Connection::start() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(host_.limits().socket_send_buffer_bytes),
                     ignored);
  asio::co_spawn(
      socket_.get_executor(), [self = shared_from_this()] { return self->run(); },
      [self = shared_from_this()](std::exception_ptr failure) {
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& e) {
          log_error(str_cat("http: a connection failed: ", e.what()));
        }
        self->close();
      });
}

asio::awaitable<void> Connection::run() {
  bool goes_on = true;  // g++ 12 miscompiles a co_await in the condition of a loop
  while (goes_on) {
    const bool has_request = co_await read_request();
    if (has_request) co_await await_answer();
    goes_on = has_request && keep_alive_ && !draining_;
  }
  co_await linger();
}

asio::awaitable<bool> Connection::read_request() {
  timed_out_ = false;
  phase_ = Phase::kIdle;
  phase_start_ = std::chrono::steady_clock::now();
  while (open_) {
    switch (parser_.feed(input_)) {
      case RequestParser::State::kComplete:
        open_exchange();
        co_return true;
      case RequestParser::State::kRefused:
        refuse(parser_.refusal());
        co_return true;
      case RequestParser::State::kNeedsMore:
        break;
    }
    update_reading_phase();
    if (end_of_input_ || (draining_ && has_served_ && phase_ == Phase::kIdle)) co_return false;
    if (timed_out_) {
      if (phase_ == Phase::kIdle) co_return false;
      refuse({408, make_error(ErrorCode::kInvalidArgument, "The request took too long to arrive")});
      co_return true;
    }
    if (parser_.take_expectation()) {
      output_.append(kContinue);
      send_output();
    }
    watch_input();
    co_await changed();
  }
  co_return false;
}

void Connection::update_reading_phase() {
  Phase phase = Phase::kIdle;
  if (parser_.has_header()) {
    phase = Phase::kBody;
  } else if (!input_.empty()) {
    phase = Phase::kHeader;
  }
  if (phase == phase_) return;
  phase_ = phase;
  phase_start_ = std::chrono::steady_clock::now();
}

void Connection::open_exchange() {
  has_served_ = true;
  keep_alive_ = parser_.keep_alive();
  HttpRequest request = parser_.take();
  is_head_ = request.method == "HEAD";
  is_http_1_0_ = request.is_http_1_0;
  phase_ = Phase::kAnswer;
  last_output_ = std::chrono::steady_clock::now();
  exchange_ = std::make_shared<Exchange>(std::move(request), *this);
  const std::shared_ptr<Exchange> exchange = exchange_;  // an answer at once closes it
  host_.dispatch(exchange);
  if (end_of_input_) on_end_of_input();
}

void Connection::refuse(const RequestParser::Refusal& refusal) {
  keep_alive_ = false;
  is_head_ = false;
  is_http_1_0_ = false;
  phase_ = Phase::kAnswer;
  send_response(host_.refusal_response(refusal));
}

asio::awaitable<void> Connection::await_answer() {
  while (open_ && (exchange_ != nullptr || !output_.empty())) {
    watch_input();
    co_await changed();
  }
}

// A client may still be sending what we refused: closing at once would reset the connection, and
// the answer would be lost on its way.
asio::awaitable<void> Connection::linger() {
  if (!open_) co_return;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  phase_ = Phase::kLinger;
  phase_start_ = std::chrono::steady_clock::now();
  timed_out_ = false;
  while (open_ && !end_of_input_ && !timed_out_) {
    input_.clear();
    watch_input();
    co_await changed();
  }
}

// Returns when something happened since it was awaited last.
asio::awaitable<void> Connection::changed() {
  while (!woken_) {
    wake_timer_.expires_at(TimePoint::max());
    co_await wake_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  woken_ = false;
}

void Connection::wake() {
  woken_ = true;
  wake_timer_.cancel();
}

void Connection::watch_input() {
  if (!open_ || reading_ || end_of_input_) return;
  if (phase_ == Phase::kAnswer && input_.size() >= host_.limits().max_pipelined_bytes) return;
  reading_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& error) {
    self->reading_ = false;
    if (!error && self->open_) self->on_readable();
  });
}

void Connection::on_readable() {
  auto& buffer = host_.read_buffer();
  error_code error;
  const std::size_t num_bytes = socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::eof) {
    on_end_of_input();
  } else if (error && !would_block(error)) {
    client_gone();
    return;
  }
  input_.append(buffer.data(), num_bytes);
  wake();
}

// The client has either left or only closed its half. A probe tells: a client that has left answers
// it with a reset, one that still reads takes it in silence.
void Connection::on_end_of_input() {
  end_of_input_ = true;
  if (exchange_ == nullptr) return;
  watch_errors();
  probe();
}

void Connection::watch_errors() {
  if (!open_ || watching_errors_) return;
  watching_errors_ = true;
  socket_.async_wait(Socket::wait_error, [self = shared_from_this()](const error_code& error) {
    self->watching_errors_ = false;
    if (error || !self->open_) return;
    pollfd state{self->socket_.native_handle(), 0, 0};
    if (::poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP)) != 0) {
      self->client_gone();
    } else {
      self->watch_errors();  // out-of-band data, which nobody asked for
    }
  });
}

void Connection::probe() {
  if (exchange_ == nullptr) return;
  if (exchange_->streaming()) {
    append_chunk(kPing);
  } else if (!is_http_1_0_) {
    output_.append(kContinue);
  } else {
    client_gone_soon();  // HTTP/1.0 has no interim answer to ask with
    return;
  }
  send_output();
}

void Connection::client_gone_soon() {
  if (going_) return;
  going_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->client_gone(); });
}

void Connection::client_gone() {
  if (!open_) return;
  if (const std::shared_ptr<Exchange> exchange = std::exchange(exchange_, nullptr)) {
    exchange->abandon();
  }
  close();
}

void Connection::close() {
  if (!open_) return;
  open_ = false;
  if (const std::shared_ptr<Exchange> exchange = std::exchange(exchange_, nullptr)) {
    exchange->abandon();
  }
  error_code ignored;
  socket_.close(ignored);
  wake();
  host_.connection_closed(shared_from_this());
}

void Connection::drain() {
  draining_ = true;
  wake();
}

void Connection::tick(TimePoint now) {
  if (!open_) return;
  const HttpLimits& limits = host_.limits();
  if (!output_.empty() && passed(last_output_, limits.write_timeout, now)) {
    log_debug("http: dropped a client that takes nothing");
    client_gone();
    return;
  }
  std::chrono::milliseconds limit = limits.keep_alive_timeout;
  switch (phase_) {
    case Phase::kIdle:
      break;
    case Phase::kHeader:
      limit = limits.header_timeout;
      break;
    case Phase::kBody:
      limit = limits.body_timeout + std::chrono::milliseconds(parser_.num_body_bytes() * 1000 /
                                                              limits.min_body_bytes_per_second);
      break;
    case Phase::kLinger:
      limit = limits.linger_timeout;
      break;
    case Phase::kAnswer:
      if (exchange_ != nullptr && (exchange_->streaming() || end_of_input_) && output_.empty() &&
          passed(last_output_, limits.ping_interval, now)) {
        probe();
      }
      return;
  }
  if (passed(phase_start_, limit, now)) {
    timed_out_ = true;
    wake();
  }
}

void Connection::append_head(const HttpResponse& response, bool is_stream) {
  str_append(output_, "HTTP/1.1 ", response.status, " ", reason_phrase(response.status),
             "\r\nDate: ", host_.date_header(), "\r\n");
  if (response.status != 204) str_append(output_, "Content-Type: ", response.content_type, "\r\n");
  if (is_stream && is_http_1_0_) keep_alive_ = false;  // the end of the connection is the end
  if (is_stream && !is_http_1_0_) output_.append("Transfer-Encoding: chunked\r\n");
  if (!is_stream && response.status != 204) {
    str_append(output_, "Content-Length: ", response.body.size(), "\r\n");
  }
  if (!keep_alive_ || draining_) {
    output_.append("Connection: close\r\n");
  } else if (is_http_1_0_) {
    output_.append("Connection: keep-alive\r\n");
  }
  for (const auto& [name, value] : response.headers) {
    str_append(output_, name, ": ", value, "\r\n");
  }
  output_.append("\r\n");
}

void Connection::send_response(HttpResponse&& response) {
  exchange_ = nullptr;
  append_head(response, false);
  if (!is_head_) output_.append(response.body);
  send_output();
  wake();
}

void Connection::begin_event_stream(const HttpHeaders& headers) {
  HttpResponse response;
  response.content_type = "text/event-stream";
  // Proxies must neither keep nor collect events.
  response.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  response.headers.insert(response.headers.end(), headers.begin(), headers.end());
  append_head(response, true);
  send_output();
}

void Connection::append_chunk(std::string_view data) {
  if (is_http_1_0_) {
    output_.append(data);
  } else {
    str_append(output_, std::string_view(hex(data.size())).substr(2), "\r\n", data, "\r\n");
  }
}

void Connection::send_events(std::string_view events) {
  append_chunk(events);
  send_output();
  if (output_.size() - num_sent_ > host_.limits().max_stream_buffer_bytes) {
    log_debug("http: dropped a client that reads its stream too slowly");
    client_gone_soon();
  }
}

void Connection::end_event_stream() {
  exchange_ = nullptr;
  if (!is_http_1_0_) output_.append(kLastChunk);
  send_output();
  wake();
}

void Connection::send_output() {
  if (!open_ || writing_) return;
  if (num_sent_ == 0) last_output_ = std::chrono::steady_clock::now();
  while (num_sent_ < output_.size()) {
    error_code error;
    const std::size_t n = socket_.write_some(
        asio::buffer(output_.data() + num_sent_, output_.size() - num_sent_), error);
    if (would_block(error)) {
      if (num_sent_ > output_.size() / 2) {
        output_.erase(0, num_sent_);
        num_sent_ = 0;
      }
      watch_output();
      return;
    }
    if (error) {
      client_gone_soon();
      return;
    }
    num_sent_ += n;
    last_output_ = std::chrono::steady_clock::now();
  }
  num_sent_ = 0;
  output_.clear();
  if (output_.capacity() > kKeptOutputBytes) output_.shrink_to_fit();
}

void Connection::watch_output() {
  writing_ = true;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& error) {
    self->writing_ = false;
    if (error || !self->open_) return;
    self->send_output();
    if (self->output_.empty()) self->wake();
  });
}

}  // namespace tvllm::server
