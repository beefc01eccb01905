// SPDX-License-Identifier: Apache-2.0
#include "bench/sse_parser.h"

#include <utility>

namespace tvllm::bench {

bool SseParser::feed(std::string_view bytes, const OnData& on_data) {
  if (!bytes.empty() && std::exchange(after_cr_, false) && bytes.front() == '\n') {
    bytes.remove_prefix(1);
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (line_.size() + data_.size() > kMaxEventBytes) return false;
    if (end == std::string_view::npos) break;
    end_line(on_data);
    const bool is_cr = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!is_cr) continue;
    after_cr_ = bytes.empty();
    if (!bytes.empty() && bytes.front() == '\n') bytes.remove_prefix(1);
  }
  return true;
}

void SseParser::end_line(const OnData& on_data) {
  constexpr std::string_view kField = "data:";
  std::string_view line = line_;
  if (line.empty()) {
    if (std::exchange(has_data_, false)) on_data(data_);
    data_.clear();
  } else if (line.starts_with(kField)) {
    line.remove_prefix(kField.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += line;
  }
  line_.clear();
}

}  // namespace tvllm::bench
