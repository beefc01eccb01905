// SPDX-License-Identifier: Apache-2.0
// The HTTP front end: the OpenAI API over an engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine_client.h"
#include "server/http/limits.h"
#include "server/openai/generation_fields.h"
#include "server/served_model.h"

namespace tvllm::trace {
class TraceRing;
}

namespace tvllm::server {

// Names and meanings are those of `vllm serve`; defaults that differ are in docs/compatibility.md.
struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;  // 0 = any free one; Server::port() says which
  std::vector<std::string> api_keys = {};
  std::vector<std::string> served_model_names = {};  // at least one; the first is reported
  std::string root_path = {};
  std::vector<std::string> allowed_origins = {};  // "*" = any; empty = the server's own pages alone

  // Choices that may wait and run: over it 429.
  std::int32_t max_queued_requests = 4096;
  std::int32_t max_num_seqs = 256;

  // 0: what the limit of open files allows. Past it 503.
  std::size_t max_connections = 0;

  std::chrono::milliseconds shutdown_timeout{30'000};
  bool handle_signals = false;  // SIGTERM and SIGINT drain; the second one stops at once
  bool prompt_tokens_details = false;
  bool force_include_usage = false;
  bool request_id_headers = false;
  bool log_stats = true;  // a line about throughput every ten seconds while busy
  bool log_requests = false;
  int num_work_threads = 2;
  RequestLimits request_limits = {};
  HttpLimits http = {};
};

// Owns the I/O thread, the work pool and everything between a socket and the engine. The public
// calls are thread-safe.
//
//   kLoading --serve()--> kServing --request_drain() or a signal--> kDraining
//   kDraining --all answered, or time is up--> kStopped
//
// While the model loads, every request, health checks included, gets 503; a signal ends the
// process. While it drains, new requests and health checks get 503 and open answers are finished.
// When the time is up the rest is cancelled in the engine; a stream then ends with the finish
// reason "abort".
class Server {
 public:
  // Binds, raises the process's limit of open files, and says 503 until serve().
  static Result<std::unique_ptr<Server>> listen(ServerOptions options);
  // Begins to serve; to be called once. `engine` and what `model` points to outlive the server, and
  // the engine still runs when it is destroyed, so that its last events find their mailbox.
  // `trace` is what the engine writes its trace into, null for none; it outlives the server too.
  void serve(ServedModel model, engine::EngineClient& engine, trace::TraceRing* trace = nullptr);
  // Both at once.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, ServedModel model,
                                               engine::EngineClient& engine,
                                               trace::TraceRing* trace = nullptr);
  // Stops at once if it still serves.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  std::string address() const;  // "127.0.0.1:8000"

  // The first call drains, the second one stops.
  void request_drain();
  void stop_now();

  // Until it has stopped. An error if that was because the engine failed.
  Status wait();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tvllm::server
