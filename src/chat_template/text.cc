// SPDX-License-Identifier: Apache-2.0
#include "chat_template/text.h"

#include <algorithm>

namespace tvllm::chat_template {

namespace {

// The first range that ends after `at`.
std::vector<Range>::const_iterator first_after(const std::vector<Range>& ranges, std::size_t at) {
  return std::upper_bound(ranges.begin(), ranges.end(), at,
                          [](std::size_t value, const Range& range) { return value < range.end; });
}

}  // namespace

Text Text::input(std::string bytes) {
  Text text(std::move(bytes));
  text.mark(0, text.size());
  return text;
}

bool Text::has_input(std::size_t begin, std::size_t end) const {
  const auto range = first_after(input_, begin);
  return range != input_.end() && range->begin < end;
}

void Text::append(std::string_view own) {
  bytes_.append(own);
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  const std::size_t base = bytes_.size();
  bytes_.append(other.bytes_, begin, end - begin);
  for (auto range = first_after(other.input_, begin);
       range != other.input_.end() && range->begin < end; ++range) {
    mark(base + std::max(range->begin, begin) - begin, base + std::min(range->end, end) - begin);
  }
}

void Text::append_made_from(std::string_view bytes, const Text& other, std::size_t begin,
                            std::size_t end) {
  const std::size_t base = bytes_.size();
  bytes_.append(bytes);
  if (other.has_input(begin, end)) mark(base, bytes_.size());
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  Text part;
  part.append(*this, begin, end);
  return part;
}

// REQUIRES: no range ends after `begin`
void Text::mark(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!input_.empty() && input_.back().end == begin) {
    input_.back().end = end;
  } else {
    input_.push_back({begin, end});
  }
}

}  // namespace tvllm::chat_template
