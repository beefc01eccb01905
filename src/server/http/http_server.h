// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "server/http/exchange.h"
#include "server/http/limits.h"
#include "server/http/request_parser.h"

namespace tvllm::server {

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // a name or an address; "::" and "0.0.0.0" mean every interface
  std::uint16_t port = 8000;       // 0 = any free one
  HttpLimits limits{};
  bool handle_signals = false;  // SIGINT and SIGTERM go to on_signal instead of ending the process
};

// What the layer above answers with. All called on the I/O thread.
struct HttpCallbacks {
  std::function<void(const std::shared_ptr<Exchange>&)> on_request;
  // The answer to bytes that are no acceptable request, in the API's error form.
  std::function<HttpResponse(int status, const Error&)> on_refusal;
  std::function<void(TimePoint)> on_tick;
  std::function<void(int signal)> on_signal;
};

// A socket that listens, its connections, and the event loop of the one I/O thread that serves
// them all. The loop runs in whatever thread calls run(); post() is thread-safe, and everything
// else belongs to the I/O thread (or to whoever owns the object while run() is not running).
class HttpServer {
 public:
  // Binds. An error names the address and says why.
  static Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;
  std::string address() const;  // "127.0.0.1:8000"
  bool is_loopback() const;

  // Serves until stop(); returns when every connection is closed.
  void run(HttpCallbacks callbacks);

  // Runs `task` on the I/O thread soon, in order. Thread-safe. Tasks that are left when run()
  // returns are dropped.
  void post(std::function<void()> task);

  // Connections end with their current answer; idle ones end now. New ones are still taken, so that
  // a health check is told why, and end after one answer.
  void drain();
  // Connections whose answer is not complete or not sent.
  std::size_t num_busy_connections() const;
  std::size_t num_connections() const;

  // Stops listening, closes every connection; run() then returns.
  void stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Raises this process's limit of open files to what the system allows, and says how many
// connections fit beside `num_reserved` other files.
std::size_t raise_file_limit(std::size_t num_reserved);

}  // namespace tvllm::server
