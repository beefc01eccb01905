// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/auth.h"
#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/metrics.h"

namespace tvllm::server {

struct FrontDoorOptions {
  std::vector<std::string> api_keys;
  // Web pages of these origins may use the API; "*" is any. Empty: none but the server's own.
  std::vector<std::string> allowed_origins;
  std::string root_path;  // prefix that a proxy leaves in front of every path
  bool request_id_headers =
      false;  // every answer has the X-Request-Id of its request, or a new one
};

// What is settled for every request before a handler sees it, in this order: who may ask across
// origins, which handler it is (404, 405), whether the key is right (401), whether the server still
// takes work (503). I/O thread only.
class FrontDoor {
 public:
  // `router` and `metrics` outlive the door.
  FrontDoor(const FrontDoorOptions& options, const Router& router, Metrics& metrics);

  void handle(const std::shared_ptr<Exchange>& exchange) const;
  // From now on only health checks and the like are answered.
  void set_draining() { draining_ = true; }

 private:
  void measure(Exchange& exchange, const Route* route) const;
  void settle_request_id(Exchange& exchange) const;
  bool is_allowed_origin(std::string_view origin) const;
  // False if the request has been answered.
  bool settle_origin(Exchange& exchange) const;
  void answer_options(Exchange& exchange, std::string_view path) const;
  std::string_view path_without_root(std::string_view path) const;

  const std::vector<std::string> allowed_origins_;
  const std::string root_path_;
  const bool request_id_headers_;
  const ApiKeys keys_;
  const Router& router_;
  Metrics& metrics_;
  bool draining_ = false;
};

}  // namespace tvllm::server
