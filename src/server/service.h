// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "core/token_event.h"
#include "engine/engine_client.h"
#include "server/admission.h"
#include "server/front_door.h"
#include "server/metrics.h"
#include "server/openai/api.h"
#include "server/openai/event_mailbox.h"
#include "server/openai/generation_hub.h"
#include "server/openai/request_builder.h"
#include "server/served_model.h"
#include "server/stats_log.h"
#include "server/trace_feed.h"
#include "server/work_pool.h"

namespace tvllm::server {

struct ServerOptions;

// Everything between the sockets and an engine, once there is one. Made by whoever loaded the
// model; then I/O thread only, until that thread has ended.
class Service {
 public:
  // Runs a task on the I/O thread.
  using Post = std::function<void(std::function<void()>)>;

  // `options`, `engine`, `trace` and what `model` points to outlive the service; `trace` is null
  // when nothing is traced. `on_progress` is called on the I/O thread when answers may have ended.
  Service(const ServerOptions& options, ServedModel model, engine::EngineClient& engine,
          trace::TraceRing* trace, Post post, std::function<void()> on_progress);
  // Waits for the engine's last events.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void handle(const std::shared_ptr<Exchange>& exchange) { door_.handle(exchange); }
  void tick(TimePoint now);
  void set_draining();

  engine::EngineState engine_state() const { return engine_.state(); }
  std::size_t num_sequences() const { return hub_.num_sequences(); }
  void cancel_all() { hub_.cancel_all(); }
  void abandon_all() { hub_.abandon_all(); }

 private:
  void take_events();
  void send_some();
  void wait_for_last_events();

  engine::EngineClient& engine_;
  const Post post_;
  const std::function<void()> on_progress_;
  const bool logs_stats_;
  const RequestBuilder builder_;
  Metrics metrics_;
  StatsLog stats_log_;
  AdmissionGate gate_;
  std::unique_ptr<EventMailbox> mailbox_;
  GenerationHub hub_;
  TraceFeed trace_feed_;
  Router router_;
  FrontDoor door_;
  std::unique_ptr<Api> api_;
  std::vector<TokenEvent> events_;  // of the pass that runs; kept for its memory
  bool sending_ = false;            // send_some() is on its way
  std::unique_ptr<WorkPool> pool_;  // its tasks use all of the above
};

}  // namespace tvllm::server
