// SPDX-License-Identifier: Apache-2.0
// A request and an answer as values, free of the HTTP library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tvllm::server {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Bytes of request bodies that the whole server holds. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  bool try_acquire(std::size_t num_bytes);
  void release(std::size_t num_bytes) { used_.fetch_sub(num_bytes, std::memory_order_relaxed); }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const std::size_t max_bytes_;
  std::atomic<std::size_t> used_{0};
};

// A share of a budget, given back when the holder is done with the bytes. Move-only.
class ByteHold {
 public:
  ByteHold() = default;
  explicit ByteHold(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ~ByteHold() { release(); }
  ByteHold(ByteHold&& other) noexcept
      : budget_(std::move(other.budget_)), num_bytes_(std::exchange(other.num_bytes_, 0)) {}
  ByteHold& operator=(ByteHold&& other) noexcept;

  // Makes the share `num_bytes` large; false when the budget has no room.
  bool grow_to(std::size_t num_bytes);
  void release();

 private:
  std::shared_ptr<ByteBudget> budget_;
  std::size_t num_bytes_ = 0;
};

struct HttpRequest {
  std::string method;
  std::string target;   // as sent
  std::string path;     // of the target: no query, not decoded
  HttpHeaders headers;  // names in lower case, in the order sent
  std::string body;
  ByteHold body_hold;  // lives as long as `body` takes memory
  bool is_http_1_0 = false;

  // The first header of that (lower case) name; empty if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  HttpHeaders headers{};  // beyond Content-Type, Content-Length, Date and Connection
};

// "Not Found"; "Unknown" for a code that this server does not send.
std::string_view reason_phrase(int status);

// "/v1/models" of "/v1/models?x=1" and of "http://host/v1/models".
std::string_view path_of_target(std::string_view target);

// "%2F" -> "/"; a broken escape stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace tvllm::server
