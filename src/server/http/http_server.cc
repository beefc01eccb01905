// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <exception>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"
#include "base/strings.h"
#include "server/http/connection.h"

namespace tvllm::server {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 4096;  // the kernel takes less if net.core.somaxconn says so
constexpr std::chrono::milliseconds kAcceptPause{50};  // when the process has no file left

constexpr std::string_view kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

std::string format_endpoint(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? str_cat("[", address, "]:", endpoint.port())
                                    : str_cat(address, ":", endpoint.port());
}

}  // namespace

class HttpServer::Impl final : public ConnectionHost {
 public:
  explicit Impl(HttpServerOptions options)
      : ConnectionHost(options.limits),
        options_(std::move(options)),
        acceptor_(io_),
        tick_timer_(io_),
        signals_(io_) {}

  Status bind();
  void run(HttpCallbacks callbacks);
  void drain();
  void stop();

  void dispatch(const std::shared_ptr<Exchange>& exchange) override;
  void connection_closed(const std::shared_ptr<Connection>& connection) override;
  HttpResponse refusal_response(const RequestParser::Refusal& refusal) override;
  std::string_view date_header() override;

  std::vector<std::shared_ptr<Connection>> snapshot() const {
    return {connections_.begin(), connections_.end()};
  }

  asio::awaitable<void> accept_loop();
  asio::awaitable<void> tick_loop();
  void wait_for_signal();
  void accept(tcp::socket socket);

  const HttpServerOptions options_;
  HttpCallbacks callbacks_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  tcp::endpoint endpoint_;
  asio::steady_timer tick_timer_;
  asio::signal_set signals_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool draining_ = false;
  bool stopping_ = false;
  std::time_t date_second_ = 0;
  std::array<char, 32> date_{};
};

Status HttpServer::Impl::bind() {
  error_code error;
  const auto refuse = [this, &error](std::string_view what) {
    return make_error(ErrorCode::kIo, str_cat("cannot ", what, " ", quoted(options_.host), " port ",
                                              options_.port, ": ", error.message()));
  };
  tcp::resolver resolver(io_);
  const auto results =
      resolver.resolve(options_.host, std::to_string(options_.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || results.empty()) return refuse("find");
  endpoint_ = results.begin()->endpoint();

  acceptor_.open(endpoint_.protocol(), error);
  if (error) return refuse("open a socket for");
  acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  error_code ignored;
  if (endpoint_.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(false), ignored);
  acceptor_.bind(endpoint_, error);
  if (error) return refuse("listen on");
  acceptor_.listen(kBacklog, error);
  if (error) return refuse("listen on");
  endpoint_ = acceptor_.local_endpoint(error);

  if (options_.handle_signals) {
    for (const int signal : {SIGINT, SIGTERM}) {
      signals_.add(signal, error);
      if (error) return refuse("handle signals beside");
    }
  }
  return {};
}

void HttpServer::Impl::run(HttpCallbacks callbacks) {
  callbacks_ = std::move(callbacks);
  asio::co_spawn(io_, accept_loop(), asio::detached);
  asio::co_spawn(io_, tick_loop(), asio::detached);
  if (options_.handle_signals) wait_for_signal();
  while (true) {
    try {
      io_.run();
      return;
    } catch (const std::exception& e) {
      // One request's failure must not end the others. The loop goes on where it was.
      log_error(str_cat("http: a task failed: ", e.what()));
    }
  }
}

asio::awaitable<void> HttpServer::Impl::accept_loop() {
  asio::steady_timer pause(io_);
  while (!stopping_) {
    tcp::socket socket(io_);
    const auto [error] =
        co_await acceptor_.async_accept(socket, asio::as_tuple(asio::use_awaitable));
    if (error == asio::error::operation_aborted || stopping_) co_return;
    if (error) {
      log_warning(str_cat("http: cannot accept a connection: ", error.message()));
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
      continue;
    }
    accept(std::move(socket));
  }
}

void HttpServer::Impl::accept(tcp::socket socket) {
  if (connections_.size() >= limits().max_connections) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kTooManyConnections), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    return;
  }
  const auto connection = std::make_shared<Connection>(std::move(socket), *this);
  connections_.insert(connection);
  if (draining_) connection->drain();
  connection->start();
}

asio::awaitable<void> HttpServer::Impl::tick_loop() {
  while (!stopping_) {
    tick_timer_.expires_after(limits().tick_interval);
    co_await tick_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (stopping_) co_return;
    const TimePoint now = std::chrono::steady_clock::now();
    for (const auto& connection : snapshot())
      connection->tick(now);
    if (callbacks_.on_tick) callbacks_.on_tick(now);
  }
}

void HttpServer::Impl::wait_for_signal() {
  signals_.async_wait([this](const error_code& error, int signal) {
    if (error || stopping_) return;
    if (callbacks_.on_signal) callbacks_.on_signal(signal);
    if (!stopping_) wait_for_signal();  // a wait begun after stop() would keep run() for ever
  });
}

void HttpServer::Impl::dispatch(const std::shared_ptr<Exchange>& exchange) {
  try {
    callbacks_.on_request(exchange);
  } catch (const std::exception& e) {
    log_error(str_cat("http: a handler failed: ", e.what()));
    exchange->respond(
        callbacks_.on_refusal(500, make_error(ErrorCode::kInternal, "The request handler failed")));
  }
}

void HttpServer::Impl::connection_closed(const std::shared_ptr<Connection>& connection) {
  connections_.erase(connection);
}

HttpResponse HttpServer::Impl::refusal_response(const RequestParser::Refusal& refusal) {
  return callbacks_.on_refusal(refusal.status, refusal.error);
}

// "Sun, 06 Nov 1994 08:49:37 GMT", written anew once a second.
std::string_view HttpServer::Impl::date_header() {
  const std::time_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::strftime(date_.data(), date_.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  }
  return date_.data();
}

void HttpServer::Impl::drain() {
  draining_ = true;
  for (const auto& connection : snapshot())
    connection->drain();
}

void HttpServer::Impl::stop() {
  if (stopping_) return;
  stopping_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  tick_timer_.cancel();
  signals_.cancel(ignored);
  for (const auto& connection : snapshot())
    connection->close();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  TVLLM_RETURN_IF_ERROR(impl->bind());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const {
  return impl_->endpoint_.port();
}

std::string HttpServer::address() const {
  return format_endpoint(impl_->endpoint_);
}

bool HttpServer::is_loopback() const {
  return impl_->endpoint_.address().is_loopback();
}

void HttpServer::run(HttpCallbacks callbacks) {
  impl_->run(std::move(callbacks));
}

void HttpServer::post(std::function<void()> task) {
  asio::post(impl_->io_, std::move(task));
}

void HttpServer::drain() {
  impl_->drain();
}

std::size_t HttpServer::num_busy_connections() const {
  return static_cast<std::size_t>(
      std::count_if(impl_->connections_.begin(), impl_->connections_.end(),
                    [](const auto& connection) { return connection->is_busy(); }));
}

std::size_t HttpServer::num_connections() const {
  return impl_->connections_.size();
}

void HttpServer::stop() {
  impl_->stop();
}

std::size_t raise_file_limit(std::size_t num_reserved) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  const std::size_t num_files = std::min<std::size_t>(limit.rlim_cur, 1u << 20);
  return num_files > 2 * num_reserved ? num_files - num_reserved : num_files / 2;
}

}  // namespace tvllm::server
