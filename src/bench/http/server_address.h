// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tvllm::bench {

// Where a server is: http://host:port/path_prefix
struct ServerAddress {
  std::string host;
  std::uint16_t port = 80;
  std::string path_prefix = {};  // without a slash at its end

  std::string authority() const;  // "host:port", as in the Host header; IPv6 in brackets
  std::string url() const;
};

// "http://127.0.0.1:8000", "http://[::1]:8000/api/". There is no TLS here.
Result<ServerAddress> parse_base_url(std::string_view url);

using Headers = std::vector<std::pair<std::string, std::string>>;

// The bytes of one request on a connection that is kept.
std::string request_bytes(const ServerAddress& server, std::string_view method,
                          std::string_view path, const Headers& headers,
                          std::string_view body = {});

}  // namespace tvllm::bench
