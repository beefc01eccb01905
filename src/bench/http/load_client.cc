// SPDX-License-Identifier: Apache-2.0
#include "bench/http/load_client.h"

#include <array>
#include <chrono>
#include <deque>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/clock.h"
#include "base/strings.h"
#include "bench/completion_stream.h"
#include "bench/http/response_reader.h"
#include "bench/sse_parser.h"

namespace tvllm::bench {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// Of the body of an answer that is no success.
constexpr std::size_t kMaxErrorBytes = 16 * 1024;

constexpr std::size_t kReadBytes = 16 * 1024;

Error io_error(std::string_view what, const ServerAddress& server, const error_code& error) {
  return make_error(ErrorCode::kIo, str_cat(what, " ", server.authority(), ": ", error.message()));
}

// Connections to one server. One thread runs its io_context.
class Connections {
 public:
  explicit Connections(const ServerAddress& server) : server_(server) {}

  Status resolve();
  asio::io_context& io() { return io_; }

  // Sends `bytes` and feeds the answer to `reader` until it is complete.
  asio::awaitable<Status> exchange(const std::string& bytes, ResponseReader& reader);

 private:
  struct Lease {
    tcp::socket socket;
    bool is_used = false;  // was idle, so that the server may have closed it meanwhile
  };

  asio::awaitable<Result<Lease>> take(bool must_be_new);
  asio::awaitable<Status> send_and_read(tcp::socket& socket, const std::string& bytes,
                                        ResponseReader& reader);

  const ServerAddress server_;
  asio::io_context io_{1};
  std::vector<tcp::endpoint> endpoints_;
  std::vector<tcp::socket> idle_;
};

Status Connections::resolve() {
  tcp::resolver resolver(io_);
  error_code error;
  for (const auto& entry : resolver.resolve(server_.host, str_cat(server_.port), error))
    endpoints_.push_back(entry.endpoint());
  if (error) return io_error("there is no address for", server_, error);
  return {};
}

asio::awaitable<Result<Connections::Lease>> Connections::take(bool must_be_new) {
  if (!idle_.empty() && !must_be_new) {
    Lease lease{std::move(idle_.back()), true};
    idle_.pop_back();
    co_return Result<Lease>(std::move(lease));
  }
  tcp::socket socket(io_);
  const auto [error, endpoint] = co_await asio::async_connect(socket, endpoints_, kAwait);
  if (error) co_return io_error("cannot connect to", server_, error);
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  co_return Result<Lease>(Lease{std::move(socket), false});
}

asio::awaitable<Status> Connections::exchange(const std::string& bytes, ResponseReader& reader) {
  for (bool must_be_new = false;; must_be_new = true) {
    Result<Lease> lease = co_await take(must_be_new);
    if (!lease.has_value()) co_return lease.error();
    const Status status = co_await send_and_read(lease->socket, bytes, reader);
    if (!status.has_value() && lease->is_used && !reader.has_begun()) continue;
    if (status.has_value() && reader.keeps_alive()) idle_.push_back(std::move(lease->socket));
    co_return status;
  }
}

asio::awaitable<Status> Connections::send_and_read(tcp::socket& socket, const std::string& bytes,
                                                   ResponseReader& reader) {
  const auto [write_error, num_written] =
      co_await asio::async_write(socket, asio::buffer(bytes), kAwait);
  if (write_error) co_return io_error("cannot send to", server_, write_error);
  std::array<char, kReadBytes> piece;
  while (!reader.is_complete()) {
    const auto [error, num_read] = co_await socket.async_read_some(asio::buffer(piece), kAwait);
    if (error == asio::error::eof) co_return reader.end();
    if (error) co_return io_error("cannot read from", server_, error);
    const Status fed = reader.feed({piece.data(), num_read});
    if (!fed.has_value()) co_return fed.error();
  }
  co_return Status();
}

// Hands an exception of a coroutine, which is our own failure, to whoever runs the io_context.
constexpr auto kRethrow = [](std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
};

class Load {
 public:
  Load(const ServerAddress& server, std::span<const LoadRequest> requests,
       const LoadOptions& options)
      : connections_(server),
        requests_(requests),
        options_(options),
        outcomes_(requests.size()),
        arrivals_(requests.size(), 0.0) {}

  Result<LoadRun> run();

 private:
  double now() const { return to_seconds(steady_clock().now() - start_); }

  asio::awaitable<void> arrive_all();
  void arrive(std::size_t index);
  void begin(std::size_t index);
  asio::awaitable<void> answer(std::size_t index);

  Connections connections_;
  const std::span<const LoadRequest> requests_;
  const LoadOptions& options_;
  std::vector<RequestOutcome> outcomes_;
  std::vector<double> arrivals_;
  std::deque<std::size_t> waiting_;  // for the bound
  std::size_t num_active_ = 0;
  TimePoint start_ = {};
};

Result<LoadRun> Load::run() {
  TVLLM_RETURN_IF_ERROR(connections_.resolve());
  start_ = steady_clock().now();
  asio::co_spawn(connections_.io(), arrive_all(), kRethrow);
  connections_.io().run();
  return LoadRun{.outcomes = std::move(outcomes_), .seconds = now()};
}

asio::awaitable<void> Load::arrive_all() {
  asio::steady_timer timer(connections_.io());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const double at = requests_[i].at_seconds;
    if (at > now()) {
      timer.expires_at(start_ +
                       std::chrono::duration_cast<Duration>(std::chrono::duration<double>(at)));
      co_await timer.async_wait(kAwait);
    }
    arrive(i);
  }
}

void Load::arrive(std::size_t index) {
  arrivals_[index] = now();
  if (options_.max_concurrency > 0 && num_active_ >= options_.max_concurrency) {
    waiting_.push_back(index);
  } else {
    begin(index);
  }
}

void Load::begin(std::size_t index) {
  ++num_active_;
  asio::co_spawn(connections_.io(), answer(index), kRethrow);
}

asio::awaitable<void> Load::answer(std::size_t index) {
  const LoadRequest& request = requests_[index];
  RequestOutcome& outcome = outcomes_[index];
  outcome.num_prompt_tokens = request.num_prompt_tokens;
  outcome.start = now();
  outcome.queue_seconds = outcome.start - arrivals_[index];

  SseParser events;
  CompletionStream stream(outcome);
  std::string error_body;
  double piece_time = 0.0;
  const SseParser::OnData on_data = [&](std::string_view data) {
    stream.take_in(data, piece_time);
  };
  ResponseReader reader([&](std::string_view piece) {
    piece_time = now();
    if (reader.status() == 200) {
      if (outcome.error.empty() && !events.feed(piece, on_data))
        outcome.error = "an event of the answer is too large";
    } else if (error_body.size() < kMaxErrorBytes) {
      error_body += piece;
    }
  });
  const Status status = co_await connections_.exchange(request.bytes, reader);
  if (!status.has_value()) {
    outcome.error = status.error().message;
  } else if (reader.status() != 200) {
    outcome.error = str_cat("HTTP ", reader.status(), ": ", error_sentence(error_body));
  } else {
    stream.finish();
  }

  --num_active_;
  if (options_.on_finished) options_.on_finished();
  if (!waiting_.empty()) {
    const std::size_t next = waiting_.front();
    waiting_.pop_front();
    begin(next);
  }
}

}  // namespace

Result<LoadRun> run_load(const ServerAddress& server, std::span<const LoadRequest> requests,
                         const LoadOptions& options) {
  return Load(server, requests, options).run();
}

Result<FetchedAnswer> fetch(const ServerAddress& server, const std::string& bytes) {
  Connections connections(server);
  TVLLM_RETURN_IF_ERROR(connections.resolve());
  FetchedAnswer answer;
  ResponseReader reader([&answer](std::string_view piece) { answer.body += piece; });
  std::optional<Status> status;
  asio::co_spawn(connections.io(), connections.exchange(bytes, reader),
                 [&status](std::exception_ptr failure, Status ended) {
                   if (failure) std::rethrow_exception(failure);
                   status = std::move(ended);
                 });
  connections.io().run();
  if (!status->has_value()) return status->error();
  answer.status = reader.status();
  return answer;
}

}  // namespace tvllm::bench
