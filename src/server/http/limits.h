// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace tvllm::server {

// What one client may cost, and how long it may take. Past a limit the answer is the status named.
struct HttpLimits {
  std::size_t max_header_bytes = 64 * 1024;        // 431
  std::size_t max_headers = 256;                   // 431
  std::size_t max_body_bytes = 16 * 1024 * 1024;   // 413
  std::size_t max_held_body_bytes = 256ull << 20;  // of all clients, until parsed: 503
  std::size_t max_connections = 4096;              // 503

  // What a client may send before the answer to its last request is out.
  std::size_t max_pipelined_bytes = 64 * 1024;
  // A slow reader of a stream loses its request past this.
  std::size_t max_stream_buffer_bytes = 1024 * 1024;

  // What the kernel may hold for a client on top of that. Left alone it takes megabytes.
  int socket_send_buffer_bytes = 128 * 1024;

  std::chrono::milliseconds header_timeout{10'000};      // first byte to last header: 408
  std::chrono::milliseconds body_timeout{30'000};        // plus a second per min_body_rate: 408
  std::size_t min_body_bytes_per_second = 16 * 1024;     // what keeps a long upload alive
  std::chrono::milliseconds keep_alive_timeout{65'000};  // between requests: closed
  std::chrono::milliseconds write_timeout{30'000};       // nothing taken for so long: dropped
  std::chrono::milliseconds linger_timeout{2'000};       // for a client to read a last answer
  // A silent stream gets ": ping" so often: proxies cut connections that say nothing.
  std::chrono::milliseconds ping_interval{10'000};
  std::chrono::milliseconds tick_interval{250};  // how exactly the times above are kept
};

}  // namespace tvllm::server
