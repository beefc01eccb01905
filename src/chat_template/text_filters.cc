// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/strings.h"
#include "chat_template/filters.h"
#include "chat_template/json_writer.h"
#include "chat_template/operators.h"
#include "chat_template/percent_format.h"
#include "chat_template/python_text.h"
#include "chat_template/runtime.h"
#include "chat_template/search.h"
#include "chat_template/text_ops.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

Result<Value> wrap(Result<Text> text) {
  if (!text) return std::move(text).error();
  return Value::text(std::move(*text));
}

// The subject, which must be a str already.
Result<Text> need_text(std::string_view filter, const Value& subject) {
  if (subject.is(Kind::kString)) return subject.as_text();
  if (subject.is(Kind::kUndefined)) return invalid_argument(subject.undefined_reason());
  return invalid_argument(str_cat(filter, " needs a str, found ", subject.type_name()));
}

template <CaseChange change>
Result<Value> case_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("a case filter", arguments, {}));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  return wrap(change_case(runtime.budget(), text, change));
}

Result<Value> title_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("title", arguments, {}));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  return wrap(title_words(runtime.budget(), text));
}

Result<Value> trim_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("trim", arguments, {"chars"}));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  TVLLM_TRY(const Text chars, bound.text(0, ""));
  std::optional<std::string_view> taken;
  if (bound.is_given(0)) taken = chars.bytes();
  return wrap(strip(runtime.budget(), text, taken, Side::kBoth));
}

Result<Value> replace_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("replace", arguments, {"old", "new", "count"}, 2));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  TVLLM_TRY(const Text old, to_text(runtime.budget(), bound[0]));
  TVLLM_TRY(const Text by, to_text(runtime.budget(), bound[1]));
  TVLLM_TRY(const std::int64_t count, bound.integer(2, -1));
  return wrap(replace_text(runtime.budget(), text, old.bytes(), by, count));
}

Result<Value> string_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("string", arguments, {}));
  if (subject.is(Kind::kString)) return subject;
  return wrap(to_text(runtime.budget(), subject));
}

Result<Value> escape_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("escape", arguments, {}));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  return wrap(escape_html(runtime.budget(), text));
}

Result<Value> indent_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("indent", arguments, {"width", "first", "blank"}));
  TVLLM_TRY(Text text, need_text("indent", subject));
  Text indention;
  if (bound.is_given(0) && bound[0].is(Kind::kString)) {
    indention = bound[0].as_text();
  } else {
    TVLLM_TRY(const std::int64_t width, bound.integer(0, 4));
    TVLLM_TRY(indention, pad(runtime.budget(), Text(), width, Text(" "), Side::kLeft));
  }
  const bool with_blank = bound.truth(2, false);
  text.append("\n");
  TVLLM_TRY(const std::vector<Text> lines, split_lines(runtime.budget(), text, false));
  Text out;
  TextSink sink(runtime.budget(), out);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) TVLLM_RETURN_IF_ERROR(sink.append_own("\n"));
    const bool is_indented = i == 0 ? bound.truth(1, false) : with_blank || !lines[i].empty();
    if (is_indented) TVLLM_RETURN_IF_ERROR(sink.append(indention));
    TVLLM_RETURN_IF_ERROR(sink.append(lines[i]));
  }
  return Value::text(std::move(out));
}

// s[:length - len(end)]
Text first_chars(const Text& text, const CharIndex& index, std::int64_t count) {
  const auto kept =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), index.num_chars());
  return text.slice(0, index.byte_of(kept));
}

Result<Value> truncate_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound,
            bind("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  TVLLM_TRY(const Text text, need_text("truncate", subject));
  TVLLM_TRY(const std::int64_t length, bound.integer(0, 255));
  TVLLM_TRY(const Text end, bound.text(2, "..."));
  TVLLM_TRY(const std::int64_t leeway, bound.integer(3, 5));
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(9 * text.size()));
  const auto end_chars = static_cast<std::int64_t>(count_chars(end.bytes()));
  if (length < end_chars || leeway < 0) {
    return invalid_argument(str_cat("truncate: expected length >= ", end_chars,
                                    " and leeway >= 0, found ", length, " and ", leeway));
  }
  const CharIndex index(text.bytes());
  const auto num_chars = static_cast<std::int64_t>(index.num_chars());
  if (num_chars <= length || num_chars - length <= leeway) return subject;
  Text out = first_chars(text, index, length - end_chars);
  if (!bound.truth(1, false)) {
    const std::size_t space = out.bytes().rfind(' ');
    if (space != std::string::npos) out = out.slice(0, space);
  }
  out.append(end);
  return Value::text(std::move(out));
}

Result<Value> wordcount_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("wordcount", arguments, {}));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(4 * text.size()));
  std::int64_t count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const Char c = char_at(text.bytes(), at);
    const bool is_word = c.code_point == '_' || is_alnum(c.code_point);
    count += is_word && !in_word ? 1 : 0;
    in_word = is_word;
    at = c.end;
  }
  return Value::integer(count);
}

Result<Value> center_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("center", arguments, {"width"}));
  TVLLM_TRY(const Text text, to_text(runtime.budget(), subject));
  TVLLM_TRY(const std::int64_t width, bound.integer(0, 80));
  return wrap(pad(runtime.budget(), text, width, Text(" "), Side::kBoth));
}

Result<Value> format_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Text format, to_text(runtime.budget(), subject));
  if (arguments.named.empty()) {
    TVLLM_TRY(const Value values,
              runtime.make_sequence(SequenceType::kTuple, std::move(arguments.positional)));
    return percent_format(runtime, format, values);
  }
  if (!arguments.positional.empty()) {
    return invalid_argument("format takes arguments by place or by name, not both");
  }
  std::vector<Member> members;
  for (auto& argument : arguments.named) {
    members.push_back({Value::text(argument.first), std::move(argument.second)});
  }
  TVLLM_TRY(const Value values, runtime.make_dict(std::move(members)));
  return percent_format(runtime, format, values);
}

Result<JsonStyle> json_style(Runtime& runtime, const Bound& bound) {
  JsonStyle style;
  style.ensure_ascii = bound.truth(0, false);
  style.sort_keys = bound.truth(3, false);
  if (bound.is_given(1)) {
    style.item_separator = Text(",");
    if (bound[1].is(Kind::kString)) {
      style.indent = bound[1].as_text();
    } else {
      TVLLM_TRY(const std::int64_t width, bound.integer(1, 0));
      TVLLM_TRY(style.indent, pad(runtime.budget(), Text(), width, Text(" "), Side::kLeft));
    }
  }
  if (!bound.is_given(2)) return style;
  const bool is_pair = bound[2].is(Kind::kSequence) && bound[2].as_sequence().items.size() == 2;
  const auto is_text = [](const Value& value) { return value.is(Kind::kString); };
  if (!is_pair || !std::all_of(bound[2].as_sequence().items.begin(),
                               bound[2].as_sequence().items.end(), is_text)) {
    return invalid_argument("tojson: 'separators' must be a pair of str");
  }
  style.item_separator = bound[2].as_sequence().items[0].as_text();
  style.key_separator = bound[2].as_sequence().items[1].as_text();
  return style;
}

Result<Value> tojson_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound,
            bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  TVLLM_TRY(const JsonStyle style, json_style(runtime, bound));
  return wrap(to_json(runtime.budget(), subject, style));
}

constexpr Builtin kFilters[] = {
    {"upper", case_filter<CaseChange::kUpper>},
    {"lower", case_filter<CaseChange::kLower>},
    {"capitalize", case_filter<CaseChange::kCapitalize>},
    {"title", title_filter},
    {"trim", trim_filter},
    {"replace", replace_filter},
    {"string", string_filter},
    // Nothing is escaped by itself, so what is safe is what it was.
    {"safe", string_filter},
    {"escape", escape_filter},
    {"e", escape_filter},
    {"forceescape", escape_filter},
    {"indent", indent_filter},
    {"truncate", truncate_filter},
    {"wordcount", wordcount_filter},
    {"center", center_filter},
    {"format", format_filter},
    {"tojson", tojson_filter},
};

}  // namespace

std::span<const Builtin> text_filters() {
  return kFilters;
}

}  // namespace tvllm::chat_template
