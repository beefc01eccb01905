// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace tvllm::server {

using RequestHandler = std::function<void(const std::shared_ptr<Exchange>&)>;

struct Route {
  std::string method;
  std::string path;  // whole, or a prefix with '*' at its end
  RequestHandler handler;
  bool needs_key = true;
  bool serves_while_draining = false;
  bool is_measured = true;  // its requests are in the HTTP metrics
};

// Which handler a method and a path mean. HEAD goes where GET goes. Filled before the server runs,
// immutable afterwards.
class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }

  struct Match {
    const Route* route = nullptr;
    std::string
        allowed;  // without a route: the methods of this path, "GET, HEAD", empty if unknown
  };
  Match find(std::string_view method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace tvllm::server
