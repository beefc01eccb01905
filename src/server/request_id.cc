// SPDX-License-Identifier: Apache-2.0
#include "server/request_id.h"

#include <algorithm>

#include "base/entropy.h"
#include "base/strings.h"

namespace tvllm::server {

bool is_usable_request_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestIdBytes &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string_view usable_request_id(const HttpRequest& request) {
  const std::string_view id = request.header(kRequestIdHeader);
  return is_usable_request_id(id) ? id : std::string_view();
}

std::string random_hex(std::size_t num_digits) {
  std::string digits = hex(random_seed()).substr(2);
  digits.insert(0, 16 - digits.size(), '0');
  return digits.substr(16 - num_digits);
}

}  // namespace tvllm::server
