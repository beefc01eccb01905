// SPDX-License-Identifier: Apache-2.0
#include "chat_template/text_ops.h"

#include <algorithm>

#include "chat_template/search.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

// Which characters a strip takes.
class CharSet {
 public:
  explicit CharSet(std::optional<std::string_view> chars) : is_space_(!chars) {
    for (std::size_t at = 0; chars && at < chars->size();) {
      const Char c = char_at(*chars, at);
      chars_.push_back(c.code_point);
      at = c.end;
    }
    std::sort(chars_.begin(), chars_.end());
  }
  bool has(char32_t c) const {
    return is_space_ ? is_space(c) : std::binary_search(chars_.begin(), chars_.end(), c);
  }

 private:
  bool is_space_;
  std::vector<char32_t> chars_;
};

bool is_line_break(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

// The parts are found as ranges first, then cut out and paid for in one place.
Result<std::vector<Text>> cut(Budget& budget, const Text& text, const std::vector<Range>& ranges) {
  TVLLM_RETURN_IF_ERROR(budget.spend_items(ranges.size()));
  TVLLM_RETURN_IF_ERROR(budget.spend(ranges.size() / 2));
  TVLLM_RETURN_IF_ERROR(budget.spend_bytes(2 * text.size()));
  std::vector<Text> parts;
  parts.reserve(ranges.size());
  for (const Range& range : ranges)
    parts.push_back(text.slice(range.begin, range.end));
  return parts;
}

Error empty_separator() {
  return invalid_argument("empty separator");
}

bool may_split(std::int64_t max_splits, std::size_t num_splits) {
  return max_splits < 0 || num_splits < static_cast<std::uint64_t>(max_splits);
}

std::vector<Range> split_at_space(std::string_view text, std::int64_t max_splits) {
  std::vector<Range> parts;
  std::size_t at = skip_space(text, 0);
  while (at < text.size()) {
    if (!may_split(max_splits, parts.size())) {
      parts.push_back({at, text.size()});
      break;
    }
    std::size_t end = at;
    while (end < text.size()) {
      const Char c = char_at(text, end);
      if (is_space(c.code_point)) break;
      end = c.end;
    }
    parts.push_back({at, end});
    at = skip_space(text, end);
  }
  return parts;
}

std::vector<Range> split_at_space_from_right(std::string_view text, std::int64_t max_splits) {
  std::vector<Range> parts;
  std::size_t end = end_without_space(text);
  while (end > 0) {
    if (!may_split(max_splits, parts.size())) {
      parts.push_back({0, end});
      break;
    }
    std::size_t begin = end;
    while (begin > 0) {
      const Char c = char_before(text, begin);
      if (is_space(c.code_point)) break;
      begin = c.begin;
    }
    parts.push_back({begin, end});
    end = end_without_space(text.substr(0, begin));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Range> split_at(std::string_view text, std::string_view separator,
                            std::int64_t max_splits) {
  const Finder finder(separator);
  std::vector<Range> parts;
  std::size_t begin = 0;
  while (may_split(max_splits, parts.size())) {
    const std::size_t at = finder.find(text, begin);
    if (at == std::string_view::npos) break;
    parts.push_back({begin, at});
    begin = at + separator.size();
  }
  parts.push_back({begin, text.size()});
  return parts;
}

// What replacing nothing does: `by` before each character and at the end.
Result<Text> put_between(Budget& budget, const Text& text, const Text& by, std::int64_t max_times) {
  Text out;
  TextSink sink(budget, out);
  std::size_t begin = 0;
  std::size_t num_times = 0;
  while (may_split(max_times, num_times)) {
    TVLLM_RETURN_IF_ERROR(sink.append(by));
    ++num_times;
    if (begin == text.size()) break;
    const Char c = char_at(text.bytes(), begin);
    TVLLM_RETURN_IF_ERROR(sink.append(text, c.begin, c.end));
    begin = c.end;
  }
  TVLLM_RETURN_IF_ERROR(sink.append(text, begin, text.size()));
  return out;
}

}  // namespace

Result<Text> strip(Budget& budget, const Text& text, std::optional<std::string_view> chars,
                   Side side) {
  TVLLM_RETURN_IF_ERROR(budget.spend_text(text.size()));
  if (chars) TVLLM_RETURN_IF_ERROR(budget.spend_bytes(16 * chars->size()));
  const CharSet taken(chars);
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (side != Side::kRight && begin < end) {
    const Char c = char_at(text.bytes(), begin);
    if (!taken.has(c.code_point)) break;
    begin = c.end;
  }
  while (side != Side::kLeft && end > begin) {
    const Char c = char_before(text.bytes(), end);
    if (!taken.has(c.code_point)) break;
    end = c.begin;
  }
  return text.slice(begin, std::max(begin, end));
}

Result<std::vector<Text>> split_text(Budget& budget, const Text& text,
                                     std::optional<std::string_view> separator,
                                     std::int64_t max_splits) {
  if (!separator) return cut(budget, text, split_at_space(text.bytes(), max_splits));
  if (separator->empty()) return empty_separator();
  return cut(budget, text, split_at(text.bytes(), *separator, max_splits));
}

Result<std::vector<Text>> split_text_from_right(Budget& budget, const Text& text,
                                                std::optional<std::string_view> separator,
                                                std::int64_t max_splits) {
  if (!separator) return cut(budget, text, split_at_space_from_right(text.bytes(), max_splits));
  if (separator->empty()) return empty_separator();
  // The mirror image of a split from the left.
  const std::string mirrored(text.bytes().rbegin(), text.bytes().rend());
  const std::string mirrored_separator(separator->rbegin(), separator->rend());
  std::vector<Range> parts = split_at(mirrored, mirrored_separator, max_splits);
  for (Range& part : parts)
    part = {text.size() - part.end, text.size() - part.begin};
  std::reverse(parts.begin(), parts.end());
  return cut(budget, text, parts);
}

Result<std::vector<Text>> split_lines(Budget& budget, const Text& text, bool keep_ends) {
  const std::string_view bytes = text.bytes();
  std::vector<Range> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = char_at(bytes, at);
    std::size_t end = c.end;
    if (is_line_break(c.code_point)) {
      if (c.code_point == '\r' && end < bytes.size() && bytes[end] == '\n') ++end;
      lines.push_back({begin, keep_ends ? end : at});
      begin = end;
    }
    at = end;
  }
  if (begin < bytes.size()) lines.push_back({begin, bytes.size()});
  return cut(budget, text, lines);
}

Result<Text> replace_text(Budget& budget, const Text& text, std::string_view old, const Text& by,
                          std::int64_t max_times) {
  TVLLM_RETURN_IF_ERROR(budget.spend_bytes(text.size()));
  if (old.empty()) return put_between(budget, text, by, max_times);
  Text out;
  TextSink sink(budget, out);
  const Finder finder(old);
  std::size_t begin = 0;
  for (std::size_t num_times = 0; may_split(max_times, num_times); ++num_times) {
    const std::size_t at = finder.find(text.bytes(), begin);
    if (at == std::string_view::npos) break;
    TVLLM_RETURN_IF_ERROR(sink.append(text, begin, at));
    TVLLM_RETURN_IF_ERROR(sink.append(by));
    begin = at + old.size();
  }
  TVLLM_RETURN_IF_ERROR(sink.append(text, begin, text.size()));
  return out;
}

Result<Text> escape_html(Budget& budget, const Text& text) {
  Text out;
  TextSink sink(budget, out);
  std::size_t begin = 0;
  for (std::size_t at = text.bytes().find_first_of("&<>'\""); at != std::string::npos;
       at = text.bytes().find_first_of("&<>'\"", begin)) {
    const char c = text.bytes()[at];
    const std::string_view form = c == '&'   ? "&amp;"
                                  : c == '<' ? "&lt;"
                                  : c == '>' ? "&gt;"
                                  : c == '"' ? "&#34;"
                                             : "&#39;";
    TVLLM_RETURN_IF_ERROR(sink.append(text, begin, at));
    TVLLM_RETURN_IF_ERROR(sink.append_made_from(form, text, at, at + 1));
    begin = at + 1;
  }
  TVLLM_RETURN_IF_ERROR(sink.append(text, begin, text.size()));
  return out;
}

Result<Text> pad(Budget& budget, const Text& text, std::int64_t width, const Text& fill,
                 Side text_side) {
  TVLLM_RETURN_IF_ERROR(budget.spend_bytes(text.size()));
  const auto length = static_cast<std::int64_t>(count_chars(text.bytes()));
  const std::int64_t missing = width > length ? width - length : 0;
  std::int64_t left = text_side == Side::kLeft ? 0 : missing;
  if (text_side == Side::kBoth) left = missing / 2 + (missing & width & 1);
  Text out;
  TextSink sink(budget, out);
  for (std::int64_t i = 0; i < left; ++i)
    TVLLM_RETURN_IF_ERROR(sink.append(fill));
  TVLLM_RETURN_IF_ERROR(sink.append(text));
  for (std::int64_t i = left; i < missing; ++i)
    TVLLM_RETURN_IF_ERROR(sink.append(fill));
  return out;
}

}  // namespace tvllm::chat_template
