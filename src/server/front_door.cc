// SPDX-License-Identifier: Apache-2.0
#include "server/front_door.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/strings.h"
#include "server/openai/api_error.h"
#include "server/request_id.h"

namespace tvllm::server {

namespace {

constexpr std::string_view kAllMethods = "GET, HEAD, POST, OPTIONS";

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The page was served by this very server.
bool is_same_origin(std::string_view origin, std::string_view host) {
  const std::size_t scheme_end = origin.find("://");
  return scheme_end != std::string_view::npos && !host.empty() &&
         origin.substr(scheme_end + 3) == host;
}

}  // namespace

FrontDoor::FrontDoor(const FrontDoorOptions& options, const Router& router, Metrics& metrics)
    : allowed_origins_(options.allowed_origins),
      root_path_(options.root_path),
      request_id_headers_(options.request_id_headers),
      keys_(options.api_keys),
      router_(router),
      metrics_(metrics) {}

bool FrontDoor::is_allowed_origin(std::string_view origin) const {
  return contains(allowed_origins_, "*") || contains(allowed_origins_, origin);
}

// Browsers send POSTs across origins without asking first and only hide the answer. So a page from
// elsewhere could make a local server work; it is refused here.
bool FrontDoor::settle_origin(Exchange& exchange) const {
  const HttpRequest& request = exchange.request();
  const std::string_view origin = request.header("origin");
  if (origin.empty()) return true;
  if (is_allowed_origin(origin)) {
    const bool is_any = contains(allowed_origins_, "*");
    exchange.add_header("Access-Control-Allow-Origin", is_any ? "*" : std::string(origin));
    if (!is_any) exchange.add_header("Vary", "Origin");
    return true;
  }
  const bool is_safe =
      request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
  if (is_safe || is_same_origin(origin, request.header("host"))) return true;
  exchange.respond(error_response(
      403, invalid_argument(str_cat("The origin ", quoted(origin),
                                    " may not use this server; --allowed-origins admits it"))));
  return false;
}

std::string_view FrontDoor::path_without_root(std::string_view path) const {
  if (!root_path_.empty() && path.starts_with(root_path_)) path.remove_prefix(root_path_.size());
  return path.empty() ? std::string_view("/") : path;
}

void FrontDoor::answer_options(Exchange& exchange, std::string_view path) const {
  const Router::Match match = router_.find("OPTIONS", path);
  if (match.allowed.empty() && path != "*") {
    exchange.respond(error_response(
        make_error(ErrorCode::kNotFound, str_cat("There is no ", quoted(path), " here"))));
    return;
  }
  HttpResponse response{.status = 204};
  const std::string methods = match.allowed.empty() ? std::string(kAllMethods) : match.allowed;
  response.headers.emplace_back("Allow", methods);
  const std::string_view origin = exchange.request().header("origin");
  if (!origin.empty() && is_allowed_origin(origin)) {
    response.headers.emplace_back("Access-Control-Allow-Methods", methods);
    // The wildcard does not cover Authorization.
    response.headers.emplace_back("Access-Control-Allow-Headers", "Authorization, Content-Type, *");
    response.headers.emplace_back("Access-Control-Max-Age", "600");
  }
  exchange.respond(std::move(response));
}

// A route's pattern stands for all of its paths, "none" for all that have no route.
void FrontDoor::measure(Exchange& exchange, const Route* route) const {
  if (route != nullptr && !route->is_measured) return;
  const std::string_view handler = route == nullptr ? std::string_view("none") : route->path;
  exchange.on_end([&metrics = metrics_, handler, method = exchange.request().method,
                   start = std::chrono::steady_clock::now()](int status) {
    metrics.add_http_request(handler, method, status, std::chrono::steady_clock::now() - start);
  });
}

// The handlers find the id in the request, wherever it came from.
void FrontDoor::settle_request_id(Exchange& exchange) const {
  if (!request_id_headers_) return;
  std::string id(usable_request_id(exchange.request()));
  if (id.empty()) {
    id = random_hex(16) + random_hex(16);
    HttpHeaders& headers = exchange.mutable_request().headers;
    std::erase_if(headers, [](const auto& header) { return header.first == kRequestIdHeader; });
    headers.emplace_back(kRequestIdHeader, id);
  }
  exchange.add_header("X-Request-Id", std::move(id));
}

void FrontDoor::handle(const std::shared_ptr<Exchange>& exchange) const {
  const HttpRequest& request = exchange->request();
  const std::string_view path = path_without_root(request.path);
  const Router::Match match = router_.find(request.method, path);
  measure(*exchange, match.route);
  settle_request_id(*exchange);
  if (!settle_origin(*exchange)) return;
  if (request.method == "OPTIONS") return answer_options(*exchange, path);
  if (match.route == nullptr && match.allowed.empty()) {
    exchange->respond(error_response(make_error(
        ErrorCode::kNotFound,
        str_cat("There is no ", quoted(path), " here; see GET /v1/models and the documentation"))));
    return;
  }
  if (match.route == nullptr) {
    HttpResponse response = error_response(
        405, invalid_argument(str_cat(quoted(path), " does not take ", quoted(request.method),
                                      "; it takes ", match.allowed)));
    response.headers.emplace_back("Allow", match.allowed);
    exchange->respond(std::move(response));
    return;
  }
  if (match.route->needs_key && !keys_.accepts(request.header("authorization"))) {
    exchange->respond(error_response(make_error(
        ErrorCode::kUnauthenticated, "A valid API key is required: Authorization: Bearer KEY")));
    return;
  }
  if (draining_ && !match.route->serves_while_draining) {
    exchange->respond(
        error_response(make_error(ErrorCode::kUnavailable, "The server is shutting down")));
    return;
  }
  match.route->handler(exchange);
}

}  // namespace tvllm::server
