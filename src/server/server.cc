// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "server/front_door.h"
#include "server/http/http_server.h"
#include "server/openai/api.h"
#include "server/openai/api_error.h"
#include "server/openai/event_mailbox.h"

namespace tvllm::server {

namespace {

// After cancelling, the engine has this long to say so, and clients to take their last chunk.
constexpr std::chrono::milliseconds kCancelGrace{2'000};
// At the very end, for the engine's last events: one step, however slow.
constexpr std::chrono::milliseconds kLastEventsTimeout{10'000};
constexpr std::size_t kReservedFiles = 64;  // beside connections: model, logs, event loop

BuilderOptions builder_options(const ServerOptions& options, const engine::EngineClient& engine) {
  return {.limits = options.request_limits,
          .served_model_names = options.served_model_names,
          .max_model_len = engine.max_model_len(),
          .max_choices = std::int64_t{options.max_queued_requests} + options.max_num_seqs,
          .prompt_tokens_details = options.prompt_tokens_details};
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, ServedModel model, engine::EngineClient& engine,
       std::unique_ptr<HttpServer> http);
  ~Impl();

  void start();
  HttpServer& http() { return *http_; }
  void drain_or_stop();
  void stop();
  Status wait();

 private:
  enum class State { kServing, kDraining, kCancelling, kStopped };

  void run();
  void take_events();
  void tick(TimePoint now);
  void begin_drain(std::chrono::milliseconds timeout);
  void advance_shutdown(TimePoint now);
  void wait_for_last_events();

  const ServerOptions options_;
  engine::EngineClient& engine_;
  std::unique_ptr<HttpServer> http_;
  const RequestBuilder builder_;
  AdmissionGate gate_;
  std::unique_ptr<EventMailbox> mailbox_;
  GenerationHub hub_;
  Router router_;
  FrontDoor door_;
  std::unique_ptr<Api> api_;
  std::vector<TokenEvent> events_;  // of the pass that runs; kept for its memory

  // I/O thread only.
  State state_ = State::kServing;
  TimePoint deadline_{};  // of the state

  Mutex mutex_;
  CondVar stopped_cv_;
  bool stopped_ TVLLM_GUARDED_BY(mutex_) = false;
  bool engine_failed_ TVLLM_GUARDED_BY(mutex_) = false;

  std::unique_ptr<WorkPool> pool_;  // its tasks use all of the above
  std::jthread io_thread_;
};

Server::Impl::Impl(ServerOptions options, ServedModel model, engine::EngineClient& engine,
                   std::unique_ptr<HttpServer> http)
    : options_(std::move(options)),
      engine_(engine),
      http_(std::move(http)),
      builder_(std::move(model), builder_options(options_, engine)),
      gate_(builder_.options().max_choices),
      mailbox_(std::make_unique<EventMailbox>([this] { http_->post([this] { take_events(); }); })),
      hub_(engine_, *mailbox_, gate_, *builder_.model().tokenizer),
      door_({options_.api_keys, options_.allowed_origins, options_.root_path}, router_),
      pool_(std::make_unique<WorkPool>(options_.num_work_threads)) {
  api_ = std::make_unique<Api>(
      ApiParts{builder_, engine_, gate_, *pool_, hub_,
               [this](std::function<void()> task) { http_->post(std::move(task)); }});
  api_->add_routes(router_);
}

// The order: no I/O, no work, no events on their way; then everything can go.
Server::Impl::~Impl() {
  stop();
  if (io_thread_.joinable()) io_thread_.join();
  pool_.reset();
  mailbox_->silence();
  wait_for_last_events();
}

void Server::Impl::start() {
  io_thread_ = std::jthread([this] { run(); });
}

void Server::Impl::run() {
  http_->run({
      .on_request = [this](const std::shared_ptr<Exchange>& exchange) { door_.handle(exchange); },
      .on_refusal = [](int status, const Error& error) { return error_response(status, error); },
      .on_tick = [this](TimePoint now) { tick(now); },
      .on_signal =
          [this](int signal) {
            log_info(str_cat("signal ", signal,
                             state_ == State::kServing
                                 ? ": finishing what is open; once more to stop now"
                                 : ": stopping now"));
            drain_or_stop();
          },
  });
  MutexLock lock(mutex_);
  stopped_ = true;
  stopped_cv_.notify_all();
}

void Server::Impl::take_events() {
  mailbox_->take(events_);
  hub_.deliver(events_);
  if (state_ != State::kServing) advance_shutdown(std::chrono::steady_clock::now());
}

void Server::Impl::tick(TimePoint now) {
  if (state_ == State::kServing && engine_.state() == engine::EngineState::kFailed) {
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
  door_.set_draining();
  api_->set_draining();
  http_->drain();
}

void Server::Impl::advance_shutdown(TimePoint now) {
  if (state_ == State::kStopped) return;
  const bool all_answered = http_->num_busy_connections() == 0;
  if (state_ == State::kDraining && !all_answered && now >= deadline_) {
    log_warning(
        str_cat("shutdown: the time is up; cancelling ", hub_.num_sequences(), " sequences"));
    state_ = State::kCancelling;
    deadline_ = now + kCancelGrace;
    hub_.cancel_all();
    return;
  }
  if (all_answered || (state_ == State::kCancelling && now >= deadline_)) {
    state_ = State::kStopped;
    hub_.abandon_all();
    http_->stop();
  }
}

void Server::Impl::drain_or_stop() {
  if (state_ == State::kServing) {
    begin_drain(options_.shutdown_timeout);
    advance_shutdown(std::chrono::steady_clock::now());
  } else if (state_ != State::kStopped) {
    state_ = State::kStopped;
    hub_.abandon_all();
    http_->stop();
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

// The engine may hold the mailbox until it has ended every sequence.
void Server::Impl::wait_for_last_events() {
  hub_.abandon_all();
  const TimePoint deadline = std::chrono::steady_clock::now() + kLastEventsTimeout;
  while (true) {
    mailbox_->take(events_);
    hub_.deliver(events_);
    if (hub_.num_sequences() == 0) return;
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log_error(str_cat("server: the engine still has ", hub_.num_sequences(),
                    " sequences; their mailbox is left to it"));
  mailbox_.release();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, ServedModel model,
                                              engine::EngineClient& engine) {
  if (options.served_model_names.empty()) {
    return invalid_argument("a server needs at least one model name", "served-model-name");
  }
  options.http.max_connections =
      std::min(options.http.max_connections, raise_file_limit(kReservedFiles));
  TVLLM_TRY(auto http, HttpServer::listen({.host = options.host,
                                           .port = options.port,
                                           .limits = options.http,
                                           .handle_signals = options.handle_signals}));
  if (!http->is_loopback() && options.api_keys.empty()) {
    log_warning(str_cat("listening on ", http->address(),
                        ", which other machines may reach, without --api-key"));
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(model), engine, std::move(http));
  impl->start();
  log_info(str_cat("listening on http://", impl->http().address()));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
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
