// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tvllm::bench {

// Reads one HTTP response out of the bytes of a connection and hands on its body as it comes, chunk
// framing taken off. Thread-compatible.
class ResponseReader {
 public:
  // Called with pieces of the body, from within feed().
  using OnBody = std::function<void(std::string_view)>;

  explicit ResponseReader(OnBody on_body);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  // Takes all of it; more than one response is an error, as nothing else was asked for.
  Status feed(std::string_view bytes);
  // The connection ended, which ends a response without a length.
  Status end();

  bool has_begun() const { return has_begun_; }  // a byte came
  bool is_complete() const;
  int status() const;        // 0 before the header is complete
  bool keeps_alive() const;  // the connection may be used again. REQUIRES: is_complete()

 private:
  struct Beast;

  OnBody on_body_;
  std::unique_ptr<Beast> beast_;
  bool has_begun_ = false;
};

}  // namespace tvllm::bench
