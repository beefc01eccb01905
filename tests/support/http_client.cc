// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace tvllm::testing {

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpClient::HttpClient(std::uint16_t port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
}

HttpClient::~HttpClient() {
  close();
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool HttpClient::send_request(std::string_view method, std::string_view path, std::string_view body,
                              const std::vector<std::string>& headers) {
  std::string text = str_cat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n");
  for (const std::string& header : headers)
    str_append(text, header, "\r\n");
  if (!body.empty() || method == "POST") {
    str_append(text, "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n");
  }
  str_append(text, "\r\n", body);
  return send(text);
}

bool HttpClient::fill() {
  if (fd_ < 0) return false;
  pollfd state{fd_, POLLIN, 0};
  if (::poll(&state, 1, timeout_ms_) != 1) return false;
  std::array<char, 16384> bytes;
  const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (n <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(n));
  return true;
}

std::string HttpClient::read_until(std::string_view marker) {
  while (true) {
    const std::size_t at = buffer_.find(marker);
    if (at != std::string::npos) {
      std::string out = buffer_.substr(0, at + marker.size());
      buffer_.erase(0, at + marker.size());
      return out;
    }
    if (!fill()) return std::exchange(buffer_, {});
  }
}

std::string HttpClient::take_line() {
  std::string line = read_until("\r\n");
  if (line.ends_with("\r\n")) line.resize(line.size() - 2);
  return line;
}

std::string HttpClient::read_to_end() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

HttpAnswer HttpClient::read_answer(bool has_body) {
  HttpAnswer answer;
  const std::string status_line = take_line();
  if (status_line.size() < 12 || !status_line.starts_with("HTTP/1.1 ")) return answer;
  std::from_chars(status_line.data() + 9, status_line.data() + 12, answer.status);
  for (std::string line = take_line(); !line.empty(); line = take_line()) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    answer.headers[to_lower_ascii(line.substr(0, colon))] = line.substr(colon + 2);
  }
  if (answer.status / 100 == 1) {
    ++num_interim_;
    return read_answer(has_body);
  }
  if (!has_body || answer.status == 204) {
    answer.complete = true;
    return answer;
  }
  if (answer.header("transfer-encoding") == "chunked") {
    while (true) {
      const std::string size_line = take_line();
      std::size_t size = 0;
      const auto [end, error] =
          std::from_chars(size_line.data(), size_line.data() + size_line.size(), size, 16);
      if (error != std::errc() || end == size_line.data()) return answer;
      while (buffer_.size() < size + 2) {
        if (!fill()) {
          answer.body += std::exchange(buffer_, {});
          return answer;
        }
      }
      answer.body += buffer_.substr(0, size);
      buffer_.erase(0, size + 2);
      if (size == 0) break;
    }
    answer.complete = true;
    return answer;
  }
  const std::optional<std::int64_t> length = parse_int64(answer.header("content-length"));
  if (!length) {
    answer.body = read_to_end();
    return answer;
  }
  const auto size = static_cast<std::size_t>(*length);
  while (buffer_.size() < size && fill()) {
  }
  answer.complete = buffer_.size() >= size;
  answer.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return answer;
}

bool HttpClient::closed_within(int timeout_ms) {
  pollfd state{fd_, POLLIN, 0};
  if (::poll(&state, 1, timeout_ms) != 1) return false;
  std::array<char, 1> byte;
  return ::recv(fd_, byte.data(), byte.size(), 0) <= 0;
}

void HttpClient::shutdown_send() {
  ::shutdown(fd_, SHUT_WR);
}

void HttpClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void HttpClient::reset() {
  const linger option{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &option, sizeof option);
  close();
}

void HttpClient::set_receive_buffer(int num_bytes) {
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &num_bytes, sizeof num_bytes);
}

HttpAnswer http_get(std::uint16_t port, std::string_view path,
                    const std::vector<std::string>& headers) {
  HttpClient client(port);
  client.send_request("GET", path, {}, headers);
  return client.read_answer();
}

HttpAnswer http_post(std::uint16_t port, std::string_view path, std::string_view body,
                     const std::vector<std::string>& headers) {
  HttpClient client(port);
  client.send_request("POST", path, body, headers);
  return client.read_answer();
}

std::vector<std::string> parse_events(std::string_view stream) {
  std::vector<std::string> events;
  while (!stream.empty()) {
    const std::size_t end = stream.find("\n\n");
    const std::string_view block = stream.substr(0, end);
    if (end == std::string_view::npos || block.find('\n') != std::string_view::npos) {
      events.push_back(str_cat("<malformed: ", block, ">"));
      return events;
    }
    if (block.starts_with("data: ")) {
      events.emplace_back(block.substr(6));
    } else if (!block.starts_with(":")) {
      events.push_back(str_cat("<malformed: ", block, ">"));
    }
    stream.remove_prefix(end + 2);
  }
  return events;
}

}  // namespace tvllm::testing
