// SPDX-License-Identifier: Apache-2.0
#include "server/service.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "server/server.h"

namespace tvllm::server {

namespace {

// At the very end, for the engine's last events: one step, however slow.
constexpr std::chrono::milliseconds kLastEventsTimeout{10'000};

BuilderOptions builder_options(const ServerOptions& options, const engine::EngineClient& engine) {
  return {.limits = options.request_limits,
          .served_model_names = options.served_model_names,
          .max_model_len = engine.max_model_len(),
          .max_choices = std::int64_t{options.max_queued_requests} + options.max_num_seqs,
          .prompt_tokens_details = options.prompt_tokens_details,
          .force_include_usage = options.force_include_usage};
}

FrontDoorOptions door_options(const ServerOptions& options) {
  return {.api_keys = options.api_keys,
          .allowed_origins = options.allowed_origins,
          .root_path = options.root_path,
          .request_id_headers = options.request_id_headers};
}

}  // namespace

Service::Service(const ServerOptions& options, ServedModel model, engine::EngineClient& engine,
                 trace::TraceRing* trace, Post post, std::function<void()> on_progress)
    : engine_(engine),
      post_(std::move(post)),
      on_progress_(std::move(on_progress)),
      logs_stats_(options.log_stats),
      builder_(std::move(model), builder_options(options, engine)),
      metrics_(builder_.default_name(), engine.max_model_len(), builder_.model().cache),
      stats_log_(std::chrono::steady_clock::now()),
      gate_(builder_.options().max_choices),
      mailbox_(std::make_unique<EventMailbox>([this] { post_([this] { take_events(); }); })),
      hub_(engine_, *mailbox_, gate_, *builder_.model().tokenizer, metrics_),
      trace_feed_(trace, *builder_.model().tokenizer, post_),
      door_(door_options(options), router_, metrics_),
      pool_(std::make_unique<WorkPool>(options.num_work_threads)) {
  api_ = std::make_unique<Api>(
      ApiParts{builder_, engine_, gate_, *pool_, hub_, metrics_, options.log_requests, post_});
  api_->add_routes(router_);
  trace_feed_.add_route(router_);
}

// The order: no work, no events on their way; then everything can go.
Service::~Service() {
  pool_.reset();
  mailbox_->silence();
  wait_for_last_events();
}

void Service::take_events() {
  mailbox_->take(events_);
  hub_.deliver(events_, std::chrono::steady_clock::now());
  if (!sending_) send_some();
  trace_feed_.pump();
}

void Service::send_some() {
  sending_ = hub_.flush_some();
  if (sending_) post_([this] { send_some(); });
  on_progress_();
}

void Service::tick(TimePoint now) {
  trace_feed_.pump();  // steps that publish nothing wake nobody
  if (!logs_stats_ || !stats_log_.is_due(now)) return;
  const std::string line = stats_log_.line(engine_.stats(), now);
  if (!line.empty()) log_info(line);
}

void Service::set_draining() {
  door_.set_draining();
  api_->set_draining();
  trace_feed_.end_all();
}

// The engine may hold the mailbox until it has ended every sequence.
void Service::wait_for_last_events() {
  hub_.abandon_all();
  const TimePoint deadline = std::chrono::steady_clock::now() + kLastEventsTimeout;
  while (true) {
    mailbox_->take(events_);
    hub_.deliver(events_, std::chrono::steady_clock::now());
    if (hub_.num_sequences() == 0) return;
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  log_error(str_cat("server: the engine still has ", hub_.num_sequences(),
                    " sequences; their mailbox is left to it"));
  mailbox_.release();
}

}  // namespace tvllm::server
