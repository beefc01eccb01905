// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/methods.h"
#include "chat_template/runtime.h"
#include "chat_template/search.h"
#include "chat_template/text_ops.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

using BytesPredicate = bool (*)(char32_t);

Value to_value(Text text) {
  return Value::text(std::move(text));
}

Result<Value> to_list(Runtime& runtime, std::vector<Text> parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts)
    items.push_back(Value::text(std::move(part)));
  return runtime.make_list(std::move(items));
}

// The optional text argument i as a view into `bound`, or nullopt.
Result<std::optional<std::string_view>> optional_text(const Bound& bound, std::size_t i,
                                                      std::string_view callee) {
  if (!bound.is_given(i)) return std::optional<std::string_view>();
  if (!bound[i].is(Kind::kString)) {
    return invalid_argument(str_cat(callee, " needs a str, found ", bound[i].type_name()));
  }
  return std::optional<std::string_view>(bound[i].as_text().bytes());
}

template <Side side>
Result<Value> strip_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("strip()", arguments, {"chars"}));
  TVLLM_TRY(const auto chars, optional_text(bound, 0, "strip()"));
  TVLLM_TRY(Text text, strip(runtime.budget(), self.as_text(), chars, side));
  return to_value(std::move(text));
}

Result<Value> split_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("split()", arguments, {"sep", "maxsplit"}));
  TVLLM_TRY(const auto separator, optional_text(bound, 0, "split()"));
  TVLLM_TRY(const std::int64_t max_splits, bound.integer(1, -1));
  TVLLM_TRY(std::vector<Text> parts,
            split_text(runtime.budget(), self.as_text(), separator, max_splits));
  return to_list(runtime, std::move(parts));
}

Result<Value> rsplit_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("rsplit()", arguments, {"sep", "maxsplit"}));
  TVLLM_TRY(const auto separator, optional_text(bound, 0, "rsplit()"));
  TVLLM_TRY(const std::int64_t max_splits, bound.integer(1, -1));
  TVLLM_TRY(std::vector<Text> parts,
            split_text_from_right(runtime.budget(), self.as_text(), separator, max_splits));
  return to_list(runtime, std::move(parts));
}

Result<Value> splitlines_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("splitlines()", arguments, {"keepends"}));
  TVLLM_TRY(std::vector<Text> lines,
            split_lines(runtime.budget(), self.as_text(), bound.truth(0, false)));
  return to_list(runtime, std::move(lines));
}

// (before, separator, after), or the text and two empty ones.
template <bool from_right>
Result<Value> partition_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("partition()", arguments, {"sep"}, 1));
  TVLLM_TRY(const Text separator, bound.text(0, ""));
  if (separator.empty()) return invalid_argument("empty separator");
  const Text& text = self.as_text();
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(2 * text.size()));
  const std::size_t at = from_right ? find_last(text.bytes(), separator.bytes())
                                    : Finder(separator.bytes()).find(text.bytes(), 0);
  std::vector<Value> parts;
  if (at == std::string_view::npos) {
    parts = {Value::string(""), Value::string(""), Value::string("")};
    parts[from_right ? 2 : 0] = self;
  } else {
    parts = {Value::text(text.slice(0, at)), bound[0],
             Value::text(text.slice(at + separator.size(), text.size()))};
  }
  return runtime.make_sequence(SequenceType::kTuple, std::move(parts));
}

// The bytes between the characters `start` and `end`, counted as in a slice; nothing if they cross.
struct Window {
  std::string_view bytes;
  std::size_t begin = 0;
  bool is_valid = true;
};
Result<Window> window_of(Runtime& runtime, const Text& text, const Bound& bound,
                         std::size_t first_argument) {
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(text.size()));
  Window window{text.bytes()};
  if (!bound.is_given(first_argument) && !bound.is_given(first_argument + 1)) return window;
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(8 * text.size()));
  const CharIndex index(text.bytes());
  const auto length = static_cast<std::int64_t>(index.num_chars());
  TVLLM_TRY(std::int64_t start, bound.integer(first_argument, 0));
  TVLLM_TRY(std::int64_t end, bound.integer(first_argument + 1, length));
  start = start < 0 ? std::max<std::int64_t>(start + length, 0) : start;
  end = std::min(end < 0 ? std::max<std::int64_t>(end + length, 0) : end, length);
  window.is_valid = start <= end;
  if (window.is_valid) {
    window.begin = index.byte_of(static_cast<std::size_t>(start));
    const std::size_t stop = index.byte_of(static_cast<std::size_t>(end));
    window.bytes = window.bytes.substr(window.begin, stop - window.begin);
  }
  return window;
}

template <bool at_end>
Result<Value> startswith_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  constexpr std::string_view kName = at_end ? "endswith()" : "startswith()";
  TVLLM_TRY(const Bound bound, bind(kName, arguments, {"prefix", "start", "end"}, 1));
  TVLLM_TRY(const Window window, window_of(runtime, self.as_text(), bound, 1));
  std::vector<Value> candidates = {bound[0]};
  if (bound[0].is(Kind::kSequence) && bound[0].as_sequence().type == SequenceType::kTuple) {
    candidates = bound[0].as_sequence().items;
  }
  for (const Value& candidate : candidates) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    if (!candidate.is(Kind::kString)) {
      return invalid_argument(
          str_cat(kName, " needs a str or a tuple of str, found ", candidate.type_name()));
    }
    const std::string& part = candidate.as_text().bytes();
    const bool matches = at_end ? window.bytes.ends_with(part) : window.bytes.starts_with(part);
    if (window.is_valid && matches) return Value::boolean(true);
  }
  return Value::boolean(false);
}

// The place of a part in characters, or -1.
template <bool from_right>
Result<std::int64_t> find_place(Runtime& runtime, const Value& self, const Bound& bound) {
  TVLLM_TRY(const Text part, bound.text(0, ""));
  TVLLM_TRY(const Window window, window_of(runtime, self.as_text(), bound, 1));
  if (!window.is_valid) return std::int64_t{-1};
  const std::size_t at = from_right ? find_last(window.bytes, part.bytes())
                                    : Finder(part.bytes()).find(window.bytes, 0);
  if (at == std::string_view::npos) return std::int64_t{-1};
  const std::string_view before =
      std::string_view(self.as_text().bytes()).substr(0, window.begin + at);
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(before.size()));
  return static_cast<std::int64_t>(count_chars(before));
}

template <bool from_right>
Result<Value> find_method_of_str(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("find()", arguments, {"sub", "start", "end"}, 1));
  TVLLM_TRY(const std::int64_t place, find_place<from_right>(runtime, self, bound));
  return Value::integer(place);
}

template <bool from_right>
Result<Value> index_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("index()", arguments, {"sub", "start", "end"}, 1));
  TVLLM_TRY(const std::int64_t place, find_place<from_right>(runtime, self, bound));
  if (place < 0) return invalid_argument("substring not found");
  return Value::integer(place);
}

Result<Value> count_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("count()", arguments, {"sub", "start", "end"}, 1));
  TVLLM_TRY(const Text part, bound.text(0, ""));
  TVLLM_TRY(const Window window, window_of(runtime, self.as_text(), bound, 1));
  if (!window.is_valid) return Value::integer(0);
  if (part.empty()) {
    return Value::integer(static_cast<std::int64_t>(count_chars(window.bytes)) + 1);
  }
  const Finder finder(part.bytes());
  std::int64_t count = 0;
  for (std::size_t at = finder.find(window.bytes, 0); at != std::string_view::npos;
       at = finder.find(window.bytes, at + part.size())) {
    ++count;
  }
  return Value::integer(count);
}

template <CaseChange change>
Result<Value> case_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("a case method", arguments, {}));
  TVLLM_TRY(Text text, change_case(runtime.budget(), self.as_text(), change));
  return to_value(std::move(text));
}

Result<Value> replace_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("replace()", arguments, {"old", "new", "count"}, 2));
  TVLLM_TRY(const Text old, bound.text(0, ""));
  TVLLM_TRY(const Text by, bound.text(1, ""));
  TVLLM_TRY(const std::int64_t max_times, bound.integer(2, -1));
  TVLLM_TRY(Text text, replace_text(runtime.budget(), self.as_text(), old.bytes(), by, max_times));
  return to_value(std::move(text));
}

Result<Value> join_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("join()", arguments, {"iterable"}, 1));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, bound[0]));
  Text out;
  TextSink sink(runtime.budget(), out);
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(items->items.size()));
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    const Value& item = items->items[i];
    if (!item.is(Kind::kString)) {
      return invalid_argument(
          str_cat("join(): item ", i, " must be a str, found ", item.type_name()));
    }
    if (i > 0) TVLLM_RETURN_IF_ERROR(sink.append(self.as_text()));
    TVLLM_RETURN_IF_ERROR(sink.append(item.as_text()));
  }
  return to_value(std::move(out));
}

template <BytesPredicate predicate>
Result<Value> all_chars_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("a character method", arguments, {}));
  const std::string_view bytes = self.as_text().bytes();
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(4 * bytes.size()));
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = char_at(bytes, at);
    if (!predicate(c.code_point)) return Value::boolean(false);
    at = c.end;
  }
  return Value::boolean(!bytes.empty());
}

// Some character has the case, and none has another.
template <BytesPredicate wanted>
Result<Value> has_case_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("a case method", arguments, {}));
  const std::string_view bytes = self.as_text().bytes();
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(4 * bytes.size()));
  bool has_wanted = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = char_at(bytes, at);
    if (wanted(c.code_point)) {
      has_wanted = true;
    } else if (is_cased(c.code_point)) {
      return Value::boolean(false);
    }
    at = c.end;
  }
  return Value::boolean(has_wanted);
}

template <bool at_end>
Result<Value> remove_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("removeprefix()", arguments, {"prefix"}, 1));
  TVLLM_TRY(const Text part, bound.text(0, ""));
  const Text& text = self.as_text();
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(text.size()));
  if (at_end && text.bytes().ends_with(part.bytes())) {
    return to_value(text.slice(0, text.size() - part.size()));
  }
  if (!at_end && text.bytes().starts_with(part.bytes())) {
    return to_value(text.slice(part.size(), text.size()));
  }
  return self;
}

template <Side text_side>
Result<Value> pad_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("center()", arguments, {"width", "fillchar"}, 1));
  TVLLM_TRY(const std::int64_t width, bound.integer(0, 0));
  TVLLM_TRY(const Text fill, bound.text(1, " "));
  if (count_chars(fill.bytes()) != 1) {
    return invalid_argument("the fill character must be exactly one character long");
  }
  TVLLM_TRY(Text text, pad(runtime.budget(), self.as_text(), width, fill, text_side));
  return to_value(std::move(text));
}

// Zeros behind the sign.
Result<Value> zfill_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("zfill()", arguments, {"width"}, 1));
  TVLLM_TRY(const std::int64_t width, bound.integer(0, 0));
  const Text& text = self.as_text();
  const bool has_sign = text.bytes().starts_with('+') || text.bytes().starts_with('-');
  Text out = text.slice(0, has_sign ? 1 : 0);
  TVLLM_TRY(const Text digits,
            pad(runtime.budget(), text.slice(has_sign ? 1 : 0, text.size()),
                has_sign ? std::max<std::int64_t>(width, 1) - 1 : width, Text("0"), Side::kRight));
  out.append(digits);
  return to_value(std::move(out));
}

constexpr Builtin kMethods[] = {
    {"strip", strip_method<Side::kBoth>},
    {"lstrip", strip_method<Side::kLeft>},
    {"rstrip", strip_method<Side::kRight>},
    {"split", split_method},
    {"rsplit", rsplit_method},
    {"splitlines", splitlines_method},
    {"partition", partition_method<false>},
    {"rpartition", partition_method<true>},
    {"startswith", startswith_method<false>},
    {"endswith", startswith_method<true>},
    {"find", find_method_of_str<false>},
    {"rfind", find_method_of_str<true>},
    {"index", index_method<false>},
    {"rindex", index_method<true>},
    {"count", count_method},
    {"upper", case_method<CaseChange::kUpper>},
    {"lower", case_method<CaseChange::kLower>},
    {"title", case_method<CaseChange::kTitle>},
    {"capitalize", case_method<CaseChange::kCapitalize>},
    {"swapcase", case_method<CaseChange::kSwap>},
    {"replace", replace_method},
    {"join", join_method},
    {"isdigit", all_chars_method<is_digit>},
    {"isalpha", all_chars_method<is_alpha>},
    {"isalnum", all_chars_method<is_alnum>},
    {"isspace", all_chars_method<is_space>},
    {"isupper", has_case_method<is_upper>},
    {"islower", has_case_method<is_lower>},
    {"removeprefix", remove_method<false>},
    {"removesuffix", remove_method<true>},
    {"center", pad_method<Side::kBoth>},
    {"ljust", pad_method<Side::kLeft>},
    {"rjust", pad_method<Side::kRight>},
    {"zfill", zfill_method},
};

constexpr std::array<std::string_view, 13> kUnsupported = {
    "casefold",     "encode",    "expandtabs",  "format",  "format_map", "isascii",  "isdecimal",
    "isidentifier", "isnumeric", "isprintable", "istitle", "maketrans",  "translate"};

}  // namespace

const Builtin* find_string_method(std::string_view name) {
  return find_entry(kMethods, name);
}

bool is_unsupported_method(std::string_view name) {
  return std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end();
}

}  // namespace tvllm::chat_template
