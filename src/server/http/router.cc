// SPDX-License-Identifier: Apache-2.0
#include "server/http/router.h"

#include "base/strings.h"

namespace tvllm::server {

namespace {

bool matches(const Route& route, std::string_view path) {
  const std::string_view pattern = route.path;
  if (!pattern.ends_with('*')) return pattern == path;
  return path.size() >= pattern.size() && path.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  const std::string_view wanted = method == "HEAD" ? std::string_view("GET") : method;
  for (const Route& route : routes_) {
    if (!matches(route, path)) continue;
    if (route.method == wanted) return {&route, {}};
    str_append(match.allowed, match.allowed.empty() ? "" : ", ", route.method);
    if (route.method == "GET") match.allowed += ", HEAD";
  }
  if (!match.allowed.empty()) match.allowed += ", OPTIONS";
  return match;
}

}  // namespace tvllm::server
