// SPDX-License-Identifier: Apache-2.0
// A small blocking HTTP client on a raw socket, for tests that must send what no library would.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tvllm::testing {

struct HttpAnswer {
  int status = 0;  // 0: no answer, the connection ended or the time was up
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
  bool complete = false;                       // the body ended as its framing says

  std::string header(const std::string& name) const;
};

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False when the peer has closed.
  bool send(std::string_view bytes);
  bool send_request(std::string_view method, std::string_view path, std::string_view body = {},
                    const std::vector<std::string>& headers = {});

  // The next answer; interim ones (1xx) are counted and skipped. `has_body` is false for HEAD.
  HttpAnswer read_answer(bool has_body = true);
  // Raw bytes up to and with `marker`; shorter if the connection ends or the time is up.
  std::string read_until(std::string_view marker);
  // Whatever comes until the peer closes.
  std::string read_to_end();
  // Whether the peer closes, without sending anything more, in that time.
  bool closed_within(int timeout_ms);

  void shutdown_send();
  void close();
  void reset();  // ends the connection with a reset

  int num_interim_answers() const { return num_interim_; }
  void set_timeout_ms(int timeout_ms) { timeout_ms_ = timeout_ms; }
  // The kernel's buffer of what came in; small makes a slow reader.
  void set_receive_buffer(int num_bytes);

 private:
  bool fill();
  std::string take_line();

  int fd_ = -1;
  int timeout_ms_ = 20'000;
  int num_interim_ = 0;
  std::string buffer_;
};

// One request on a connection of its own.
HttpAnswer http_get(std::uint16_t port, std::string_view path,
                    const std::vector<std::string>& headers = {});
HttpAnswer http_post(std::uint16_t port, std::string_view path, std::string_view body,
                     const std::vector<std::string>& headers = {});

// The data of each event of a server-sent event stream, comments left out. Framing errors show as
// an event "<malformed: ...>".
std::vector<std::string> parse_events(std::string_view stream);

}  // namespace tvllm::testing
