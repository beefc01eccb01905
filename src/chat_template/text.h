// SPDX-License-Identifier: Apache-2.0
// Text that remembers which of its bytes came from the request.
//
// A tokenizer may read control tokens (<|im_start|>) out of a prompt only where the template itself
// wrote them, never where a user did. So each string of a template's run carries the byte ranges
// that are *input*, and every operation keeps them: a result byte is input if any byte that it was
// made from is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tvllm::chat_template {

// Bytes [begin, end).
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

// Plain value. Invariant: input ranges are sorted, not empty, inside the text, and do not touch.
class Text {
 public:
  Text() = default;
  // The template's own text: none of it is input.
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}
  // The request's text: all of it is input.
  static Text input(std::string bytes);

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Range>& input_ranges() const { return input_; }
  // Whether any byte of [begin, end) is input.
  bool has_input(std::size_t begin, std::size_t end) const;

  void append(std::string_view own);
  void append(const Text& other) { append(other, 0, other.size()); }
  // other[begin, end)
  void append(const Text& other, std::size_t begin, std::size_t end);
  // `bytes` made from other[begin, end): an escaped or upper-case form of it.
  void append_made_from(std::string_view bytes, const Text& other, std::size_t begin,
                        std::size_t end);

  Text slice(std::size_t begin, std::size_t end) const;
  std::string take_bytes() && { return std::move(bytes_); }

 private:
  void mark(std::size_t begin, std::size_t end);

  std::string bytes_;
  std::vector<Range> input_;
};

}  // namespace tvllm::chat_template
