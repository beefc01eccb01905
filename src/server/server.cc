// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "server/http/http_server.h"
#include "server/openai/api_error.h"
#include "server/service.h"

namespace tvllm::server {

namespace {

// After cancelling, the engine has this long to say so, and clients to take their last chunk.
constexpr std::chrono::milliseconds kCancelGrace{2'000};
constexpr std::size_t kReservedFiles = 64;  // beside connections: model, logs, event loop
// Without --max-connections; one costs some 3 KiB here and as much in the kernel.
constexpr std::size_t kMostConnections = 65'536;

HttpResponse loading_response() {
  return error_response(make_error(ErrorCode::kUnavailable, "The model is still loading"));
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, std::unique_ptr<HttpServer> http)
      : options_(std::move(options)), http_(std::move(http)) {}
  ~Impl();

  void start();
  void serve(ServedModel model, engine::EngineClient& engine, trace::TraceRing* trace);
  HttpServer& http() { return *http_; }
  void drain_or_stop();
  void stop();
  Status wait();

 private:
  enum class State { kLoading, kServing, kDraining, kCancelling, kStopped };

  void run();
  void on_signal(int signal);
  void on_progress();
  void tick(TimePoint now);
  void begin_drain(std::chrono::milliseconds timeout);
  void advance_shutdown(TimePoint now);
  void stop_sockets();

  const ServerOptions options_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<Service> service_;  // null while loading

  // I/O thread only.
  State state_ = State::kLoading;
  TimePoint deadline_{};  // of the state

  Mutex mutex_;
  CondVar stopped_cv_;
  bool stopped_ TVLLM_GUARDED_BY(mutex_) = false;
  bool engine_failed_ TVLLM_GUARDED_BY(mutex_) = false;

  std::jthread io_thread_;
};

// No I/O any more; then the service waits for what is still on its way.
Server::Impl::~Impl() {
  stop();
  if (io_thread_.joinable()) io_thread_.join();
  service_.reset();
}

void Server::Impl::start() {
  io_thread_ = std::jthread([this] { run(); });
}

// The I/O thread does not look at the service before it has become kServing.
void Server::Impl::serve(ServedModel model, engine::EngineClient& engine, trace::TraceRing* trace) {
  service_ = std::make_unique<Service>(
      options_, std::move(model), engine, trace,
      [this](std::function<void()> task) { http_->post(std::move(task)); },
      [this] { on_progress(); });
  http_->post([this] {
    if (state_ == State::kLoading) state_ = State::kServing;
  });
}

void Server::Impl::run() {
  http_->run({
      .on_request =
          [this](const std::shared_ptr<Exchange>& exchange) {
            if (state_ == State::kLoading) return exchange->respond(loading_response());
            service_->handle(exchange);
          },
      .on_refusal = [](int status, const Error& error) { return error_response(status, error); },
      .on_tick = [this](TimePoint now) { tick(now); },
      .on_signal = [this](int signal) { on_signal(signal); },
  });
  MutexLock lock(mutex_);
  stopped_ = true;
  stopped_cv_.notify_all();
}

void Server::Impl::on_signal(int signal) {
  if (state_ == State::kLoading) {
    // Nothing is open, and whoever loads cannot be asked to stop: as if nobody handled the signal.
    log_info(str_cat("signal ", signal, " while loading"));
    flush_log();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  log_info(str_cat("signal ", signal,
                   state_ == State::kServing ? ": finishing what is open; once more to stop now"
                                             : ": stopping now"));
  drain_or_stop();
}

void Server::Impl::on_progress() {
  if (state_ != State::kServing) advance_shutdown(std::chrono::steady_clock::now());
}

void Server::Impl::tick(TimePoint now) {
  if (state_ == State::kLoading) return;
  service_->tick(now);
  if (state_ == State::kServing && service_->engine_state() == engine::EngineState::kFailed) {
    log_error("the engine has failed; the server stops");
    {
      MutexLock lock(mutex_);
      engine_failed_ = true;
    }
    begin_drain(kCancelGrace);
  }
  if (state_ != State::kServing) advance_shutdown(now);
}

// On the I/O thread.
void Server::Impl::begin_drain(std::chrono::milliseconds timeout) {
  if (state_ != State::kServing) return;
  state_ = State::kDraining;
  deadline_ = std::chrono::steady_clock::now() + timeout;
  service_->set_draining();
  http_->drain();
}

void Server::Impl::advance_shutdown(TimePoint now) {
  if (state_ == State::kStopped) return;
  const bool all_answered = http_->num_busy_connections() == 0;
  if (state_ == State::kDraining && !all_answered && now >= deadline_) {
    log_warning(
        str_cat("shutdown: the time is up; cancelling ", service_->num_sequences(), " sequences"));
    state_ = State::kCancelling;
    deadline_ = now + kCancelGrace;
    service_->cancel_all();
    return;
  }
  if (all_answered || (state_ == State::kCancelling && now >= deadline_)) stop_sockets();
}

void Server::Impl::stop_sockets() {
  if (state_ != State::kLoading) service_->abandon_all();
  state_ = State::kStopped;
  http_->stop();
}

void Server::Impl::drain_or_stop() {
  if (state_ == State::kServing) {
    begin_drain(options_.shutdown_timeout);
    advance_shutdown(std::chrono::steady_clock::now());
  } else if (state_ != State::kStopped) {
    stop_sockets();
  }
}

void Server::Impl::stop() {
  http_->post([this] {
    if (state_ == State::kServing) begin_drain({});
    drain_or_stop();
  });
}

Status Server::Impl::wait() {
  MutexLock lock(mutex_);
  while (!stopped_)
    stopped_cv_.wait(mutex_);
  if (engine_failed_) return make_error(ErrorCode::kInternal, "the engine has failed");
  return {};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options) {
  if (options.served_model_names.empty()) {
    return invalid_argument("a server needs at least one model name", "served-model-name");
  }
  const std::size_t most = raise_file_limit(kReservedFiles);
  if (options.max_connections > most) {
    return invalid_argument(
        str_cat("--max-connections must be at most ", most,
                ", as the limit of open files allows; got ", options.max_connections),
        "max-connections");
  }
  options.http.max_connections =
      options.max_connections > 0 ? options.max_connections : std::min(most, kMostConnections);
  TVLLM_TRY(auto http, HttpServer::listen({.host = options.host,
                                           .port = options.port,
                                           .limits = options.http,
                                           .handle_signals = options.handle_signals}));
  if (!http->is_loopback() && options.api_keys.empty()) {
    log_warning(str_cat("listening on ", http->address(),
                        ", which other machines may reach, without --api-key"));
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(http));
  impl->start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::serve(ServedModel model, engine::EngineClient& engine, trace::TraceRing* trace) {
  impl_->serve(std::move(model), engine, trace);
  log_info(str_cat("listening on http://", address()));
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, ServedModel model,
                                              engine::EngineClient& engine,
                                              trace::TraceRing* trace) {
  TVLLM_TRY(std::unique_ptr<Server> server, listen(std::move(options)));
  server->serve(std::move(model), engine, trace);
  return server;
}

std::uint16_t Server::port() const {
  return impl_->http().port();
}

std::string Server::address() const {
  return impl_->http().address();
}

void Server::request_drain() {
  impl_->http().post([this] { impl_->drain_or_stop(); });
}

void Server::stop_now() {
  impl_->stop();
}

Status Server::wait() {
  return impl_->wait();
}

}  // namespace tvllm::server
