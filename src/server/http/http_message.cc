// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_message.h"

namespace tvllm::server {

bool ByteBudget::try_acquire(std::size_t num_bytes) {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (num_bytes > max_bytes_ || used > max_bytes_ - num_bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + num_bytes, std::memory_order_relaxed));
  return true;
}

ByteHold& ByteHold::operator=(ByteHold&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::move(other.budget_);
    num_bytes_ = std::exchange(other.num_bytes_, 0);
  }
  return *this;
}

bool ByteHold::grow_to(std::size_t num_bytes) {
  if (num_bytes <= num_bytes_ || budget_ == nullptr) return true;
  if (!budget_->try_acquire(num_bytes - num_bytes_)) return false;
  num_bytes_ = num_bytes;
  return true;
}

void ByteHold::release() {
  if (budget_ != nullptr) budget_->release(std::exchange(num_bytes_, 0));
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [field, value] : headers) {
    if (field == name) return value;
  }
  return {};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string_view path_of_target(std::string_view target) {
  const std::size_t scheme_end = target.find("://");
  if (!target.starts_with('/') && scheme_end != std::string_view::npos) {
    target.remove_prefix(scheme_end + 3);
    const std::size_t slash = target.find('/');
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

namespace {
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

}  // namespace tvllm::server
