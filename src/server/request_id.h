// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace tvllm::server {

inline constexpr std::string_view kRequestIdHeader = "x-request-id";
inline constexpr std::size_t kMaxRequestIdBytes = 128;

// Whether a client may call its request so: 1 to kMaxRequestIdBytes visible ASCII characters.
bool is_usable_request_id(std::string_view id);

// The request's X-Request-Id; empty if it has none, or one that is not usable.
std::string_view usable_request_id(const HttpRequest& request);

// At most 16 hexadecimal digits that nobody has had before.
std::string random_hex(std::size_t num_digits);

}  // namespace tvllm::server
