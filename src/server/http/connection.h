// SPDX-License-Identifier: Apache-2.0
// Includes Boost.Asio, so only http/*.cc may include it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "server/http/exchange.h"
#include "server/http/http_message.h"
#include "server/http/limits.h"
#include "server/http/request_parser.h"

namespace tvllm::server {

class Connection;

// What a connection needs of its server. Outlives the connections. I/O thread only.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual void dispatch(const std::shared_ptr<Exchange>& exchange) = 0;
  virtual void connection_closed(const std::shared_ptr<Connection>& connection) = 0;
  virtual HttpResponse refusal_response(const RequestParser::Refusal& refusal) = 0;
  virtual std::string_view date_header() = 0;

  const HttpLimits& limits() const { return limits_; }
  const std::shared_ptr<ByteBudget>& body_budget() const { return body_budget_; }
  // Bytes on their way from a socket into a connection's input.
  std::array<char, 64 * 1024>& read_buffer() { return read_buffer_; }

 protected:
  explicit ConnectionHost(const HttpLimits& limits)
      : limits_(limits), body_budget_(std::make_shared<ByteBudget>(limits.max_held_body_bytes)) {}

 private:
  const HttpLimits limits_;
  const std::shared_ptr<ByteBudget> body_budget_;
  std::array<char, 64 * 1024> read_buffer_;
};

// One socket: reads a request, hands it to the host as an Exchange, sends the answer, and so on
// while the client keeps the connection alive. I/O thread only.
//
//   coroutine run():  read_request -> dispatch -> await_answer -> ... -> linger -> close
//   callbacks:        on_readable (also while an answer is being made, so that a client that leaves
//                     is noticed), on_writable, on_socket_error, tick; each wakes the coroutine
//
// Invariants: (1) at most one exchange is open; (2) output_ holds whole events, so that a ping may
// follow at any time; (3) input_ is bounded by the read buffer plus max_pipelined_bytes; (4) a
// client that is gone is reported to the exchange from the event loop, never out of a call that the
// exchange's owner makes.
class Connection final : public AnswerSink, public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  Connection(Socket socket, ConnectionHost& host);

  void start();
  // Deadlines and pings. Called every HttpLimits::tick_interval.
  void tick(TimePoint now);
  // No further request after the current one; closes an idle connection.
  void drain();
  void close();

  // An answer is being made, or is not all in the kernel's hands.
  bool is_busy() const { return exchange_ != nullptr || !output_.empty(); }

  void send_response(HttpResponse&& response) override;
  void begin_event_stream(const HttpHeaders& headers) override;
  void send_events(std::string_view events) override;
  void end_event_stream() override;
  std::size_t num_unsent_bytes() const override { return output_.size() - num_sent_; }

 private:
  enum class Phase { kIdle, kHeader, kBody, kAnswer, kLinger };

  boost::asio::awaitable<void> run();
  boost::asio::awaitable<bool> read_request();
  boost::asio::awaitable<void> await_answer();
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<void> changed();
  void wake();

  void open_exchange();
  void refuse(const RequestParser::Refusal& refusal);
  void update_reading_phase();

  void watch_input();
  void on_readable();
  void on_end_of_input();
  void watch_errors();
  void probe();
  void client_gone_soon();
  void client_gone();

  void append_head(const HttpResponse& response, bool is_stream);
  void append_chunk(std::string_view data);
  void send_output();
  void watch_output();

  Socket socket_;
  ConnectionHost& host_;  // owns this connection
  boost::asio::steady_timer wake_timer_;
  RequestParser parser_;
  std::shared_ptr<Exchange> exchange_;  // open, or none

  std::string input_;
  std::string output_;
  std::size_t num_sent_ = 0;  // of output_

  Phase phase_ = Phase::kIdle;
  TimePoint phase_start_;
  TimePoint last_output_;  // when the socket last took bytes, or output_ ceased to be empty

  bool open_ = true;
  bool woken_ = false;
  bool reading_ = false;  // an input watch is armed
  bool writing_ = false;  // an output watch is armed
  bool watching_errors_ = false;
  bool end_of_input_ = false;
  bool timed_out_ = false;  // the current phase took too long
  bool draining_ = false;
  bool has_served_ = false;  // a request
  bool keep_alive_ = true;
  bool is_head_ = false;
  bool is_http_1_0_ = false;
  bool going_ = false;  // client_gone() is on its way
};

}  // namespace tvllm::server
