// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tvllm::bench {

// Takes a server-sent event stream apart, however it is cut into pieces: lines end with LF, CR LF
// or CR, an event with an empty line; comments and fields other than `data` are passed over.
// Thread-compatible. (WHATWG HTML, "Server-sent events".)
class SseParser {
 public:
  // Called with the data of each event that has some; its lines are joined with LF.
  using OnData = std::function<void(std::string_view)>;

  // What an event may hold: a line without an end would else take all memory.
  static constexpr std::size_t kMaxEventBytes = 16 << 20;

  // False when an event is larger than that; nothing more may be fed then.
  bool feed(std::string_view bytes, const OnData& on_data);

 private:
  void end_line(const OnData& on_data);

  std::string line_;  // the one that has not ended
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;
};

}  // namespace tvllm::bench
