// SPDX-License-Identifier: Apache-2.0
#include "chat_template/json_writer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

void append_unit(std::string& out, char32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    out.push_back(kDigits[(unit >> shift) & 0xF]);
}

// What stands for a character inside quotes; empty for itself.
std::string escape_of(char32_t c, bool ensure_ascii) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      break;
  }
  std::string out;
  if (c < 0x20 || (ensure_ascii && c >= 0x7F && c <= 0xFFFF)) {
    append_unit(out, c);
  } else if (ensure_ascii && c > 0xFFFF) {
    append_unit(out, 0xD800 + ((c - 0x10000) >> 10));
    append_unit(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
  }
  return out;
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

// What a value is as the key of an object, unless it is a string; nothing if JSON has no such key.
std::optional<std::string> key_text(const Value& key) {
  switch (key.kind()) {
    case Kind::kNone:
      return "null";
    case Kind::kBool:
      return key.as_bool() ? "true" : "false";
    case Kind::kInt:
      return str_cat(key.as_int());
    case Kind::kFloat:
      return json_float(key.as_float());
    default:
      return std::nullopt;
  }
}

// Recurses as deep as the value, which is at most kMaxValueDepth.
class JsonWriter {
 public:
  JsonWriter(TextSink& sink, const JsonStyle& style) : sink_(sink), style_(style) {}

  Status write(const Value& value) {
    TVLLM_RETURN_IF_ERROR(sink_.budget().spend(1));
    switch (value.kind()) {
      case Kind::kNone:
        return sink_.append_own("null");
      case Kind::kBool:
        return sink_.append_own(value.as_bool() ? "true" : "false");
      case Kind::kInt:
        return sink_.append_own(str_cat(value.as_int()));
      case Kind::kFloat:
        return sink_.append_own(json_float(value.as_float()));
      case Kind::kString:
        return write_string(value.as_text());
      case Kind::kDict:
        return write_dict(value.as_dict());
      case Kind::kSequence:
        if (value.as_sequence().type == SequenceType::kList ||
            value.as_sequence().type == SequenceType::kTuple) {
          return write_list(value.as_sequence());
        }
        break;
      default:
        break;
    }
    return invalid_argument(
        str_cat("tojson: a value of type ", value.type_name(), " has no form in JSON"));
  }

 private:
  Status write_string(const Text& text) {
    TVLLM_RETURN_IF_ERROR(sink_.append_own("\""));
    for (std::size_t at = 0; at < text.size();) {
      const Char c = char_at(text.bytes(), at);
      const std::string escape = escape_of(c.code_point, style_.ensure_ascii);
      if (escape.empty()) {
        TVLLM_RETURN_IF_ERROR(sink_.append(text, c.begin, c.end));
      } else {
        TVLLM_RETURN_IF_ERROR(sink_.append_made_from(escape, text, c.begin, c.end));
      }
      at = c.end;
    }
    return sink_.append_own("\"");
  }

  Status write_list(const Sequence& list) {
    if (list.items.empty()) return sink_.append_own("[]");
    TVLLM_RETURN_IF_ERROR(open("["));
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) TVLLM_RETURN_IF_ERROR(next());
      TVLLM_RETURN_IF_ERROR(write(list.items[i]));
    }
    return close("]");
  }

  Status write_dict(const Dict& dict) {
    if (dict.members().empty()) return sink_.append_own("{}");
    TVLLM_TRY(const std::vector<const Member*> members, in_order(dict));
    TVLLM_RETURN_IF_ERROR(open("{"));
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) TVLLM_RETURN_IF_ERROR(next());
      TVLLM_RETURN_IF_ERROR(write_key(members[i]->key));
      TVLLM_RETURN_IF_ERROR(sink_.append(style_.key_separator));
      TVLLM_RETURN_IF_ERROR(write(members[i]->value));
    }
    return close("}");
  }

  Status write_key(const Value& key) {
    if (key.is(Kind::kString)) return write_string(key.as_text());
    const std::optional<std::string> text = key_text(key);
    if (!text) {
      return invalid_argument(
          str_cat("tojson: a key must be str, int, float, bool or None, not ", key.type_name()));
    }
    return sink_.append_own(str_cat("\"", *text, "\""));
  }

  Result<std::vector<const Member*>> in_order(const Dict& dict) {
    TVLLM_RETURN_IF_ERROR(sink_.budget().spend_items(dict.members().size()));
    std::vector<const Member*> members;
    for (const Member& member : dict.members())
      members.push_back(&member);
    if (!style_.sort_keys) return members;
    std::optional<Error> failure;
    std::stable_sort(members.begin(), members.end(), [&](const Member* a, const Member* b) {
      if (failure) return false;
      Result<bool> less = is_less(sink_.budget(), a->key, b->key);
      if (!less) failure = less.error();
      return less.has_value() && *less;
    });
    if (failure) return *std::move(failure);
    return members;
  }

  Status open(std::string_view bracket) {
    TVLLM_RETURN_IF_ERROR(sink_.append_own(bracket));
    ++level_;
    return new_line();
  }

  Status next() {
    TVLLM_RETURN_IF_ERROR(sink_.append(style_.item_separator));
    return new_line();
  }

  Status close(std::string_view bracket) {
    --level_;
    TVLLM_RETURN_IF_ERROR(new_line());
    return sink_.append_own(bracket);
  }

  Status new_line() {
    if (!style_.indent) return {};
    TVLLM_RETURN_IF_ERROR(sink_.append_own("\n"));
    for (int i = 0; i < level_; ++i)
      TVLLM_RETURN_IF_ERROR(sink_.append(*style_.indent));
    return {};
  }

  TextSink& sink_;          // the caller's
  const JsonStyle& style_;  // the caller's
  int level_ = 0;
};

}  // namespace

Result<Text> to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  Text text;
  TextSink sink(budget, text);
  TVLLM_RETURN_IF_ERROR(JsonWriter(sink, style).write(value));
  return text;
}

}  // namespace tvllm::chat_template
