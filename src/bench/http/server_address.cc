// SPDX-License-Identifier: Apache-2.0
#include "bench/http/server_address.h"

#include <optional>

#include "base/strings.h"

namespace tvllm::bench {

std::string ServerAddress::authority() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? str_cat("[", host, "]:", port) : str_cat(host, ":", port);
}

std::string ServerAddress::url() const {
  return str_cat("http://", authority(), path_prefix);
}

Result<ServerAddress> parse_base_url(std::string_view url) {
  const auto bad = [url](std::string_view why) {
    return invalid_argument(
        str_cat("--base-url must be http://HOST[:PORT][/PATH]", why, ", got ", quoted(url)),
        "base-url");
  };
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) return bad(" (there is no TLS here)");
  if (!url.starts_with(kScheme)) return bad("");
  std::string_view rest = url.substr(kScheme.size());
  for (const char c : rest) {
    if (c <= ' ' || c == '\x7f' || c == '@' || c == '?' || c == '#') return bad("");
  }
  ServerAddress server;
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    server.path_prefix = rest.substr(slash);
    while (server.path_prefix.ends_with('/'))
      server.path_prefix.pop_back();
    rest = rest.substr(0, slash);
  }
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return bad("");
    server.host = rest.substr(1, end - 1);
    if (end + 1 == rest.size()) {
      colon = std::string_view::npos;
    } else if (colon != end + 1) {
      return bad("");
    }
  } else {
    server.host = rest.substr(0, colon);
    if (server.host.find(':') != std::string::npos) return bad("");
  }
  if (server.host.empty()) return bad("");
  if (colon != std::string_view::npos) {
    const std::optional<std::int64_t> port = parse_int64(rest.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return bad("");
    server.port = static_cast<std::uint16_t>(*port);
  }
  return server;
}

std::string request_bytes(const ServerAddress& server, std::string_view method,
                          std::string_view path, const Headers& headers, std::string_view body) {
  std::string bytes =
      str_cat(method, " ", server.path_prefix, path, " HTTP/1.1\r\nHost: ", server.authority(),
              "\r\nUser-Agent: tiny-vllm-bench\r\n");
  for (const auto& [name, value] : headers)
    str_append(bytes, name, ": ", value, "\r\n");
  if (!body.empty()) {
    str_append(bytes, "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n");
  }
  str_append(bytes, "\r\n", body);
  return bytes;
}

}  // namespace tvllm::bench
