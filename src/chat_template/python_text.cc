// SPDX-License-Identifier: Apache-2.0
#include "chat_template/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/strings.h"
#include "chat_template/methods.h"
#include "chat_template/objects.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

std::string hex_escape(char32_t c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const int num_digits = c <= 0xFF ? 2 : (c <= 0xFFFF ? 4 : 8);
  std::string out = num_digits == 2 ? "\\x" : (num_digits == 4 ? "\\u" : "\\U");
  for (int shift = 4 * (num_digits - 1); shift >= 0; shift -= 4) {
    out.push_back(kDigits[(c >> shift) & 0xF]);
  }
  return out;
}

// What stands for a character inside quotes; empty for itself.
std::string escape_of(char32_t c, char quote) {
  switch (c) {
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (c == static_cast<char32_t>(quote)) return std::string("\\") + quote;
  return is_printable(c) ? std::string() : hex_escape(c);
}

// Writes nested values, to a depth that is sure to end even through a namespace in itself.
class ReprWriter {
 public:
  explicit ReprWriter(TextSink& sink) : sink_(sink) {}

  Status write(const Value& value) {
    TVLLM_RETURN_IF_ERROR(sink_.budget().spend(1));
    switch (value.kind()) {
      case Kind::kUndefined:
        return sink_.append_own("Undefined");
      case Kind::kNone:
        return sink_.append_own("None");
      case Kind::kBool:
        return sink_.append_own(value.as_bool() ? "True" : "False");
      case Kind::kInt:
        return sink_.append_own(str_cat(value.as_int()));
      case Kind::kFloat:
        return sink_.append_own(float_repr(value.as_float()));
      case Kind::kString:
        return write_string(value.as_text());
      default:
        break;
    }
    if (depth_ >= 2 * kMaxValueDepth) return invalid_argument("a value contains itself");
    ++depth_;
    Status status = write_container(value);
    --depth_;
    return status;
  }

 private:
  Status write_container(const Value& value) {
    if (value.is(Kind::kSequence)) return write_sequence(value.as_sequence());
    if (value.is(Kind::kDict)) return write_dict(value.as_dict());
    return write_object(value.as_object());
  }

  Status write_string(const Text& text) {
    const bool has_single = text.bytes().find('\'') != std::string::npos;
    const bool has_double = text.bytes().find('"') != std::string::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    TVLLM_RETURN_IF_ERROR(sink_.append_own(std::string_view(&quote, 1)));
    for (std::size_t at = 0; at < text.size();) {
      const Char c = char_at(text.bytes(), at);
      const std::string escape = escape_of(c.code_point, quote);
      if (escape.empty()) {
        TVLLM_RETURN_IF_ERROR(sink_.append(text, c.begin, c.end));
      } else {
        TVLLM_RETURN_IF_ERROR(sink_.append_made_from(escape, text, c.begin, c.end));
      }
      at = c.end;
    }
    return sink_.append_own(std::string_view(&quote, 1));
  }

  Status write_items(const Sequence& sequence, std::string_view open, std::string_view close) {
    TVLLM_RETURN_IF_ERROR(sink_.append_own(open));
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) TVLLM_RETURN_IF_ERROR(sink_.append_own(", "));
      TVLLM_RETURN_IF_ERROR(write(sequence.items[i]));
    }
    return sink_.append_own(close);
  }

  Status write_sequence(const Sequence& sequence) {
    switch (sequence.type) {
      case SequenceType::kList:
        return write_items(sequence, "[", "]");
      case SequenceType::kTuple:
        return write_items(sequence, "(", sequence.items.size() == 1 ? ",)" : ")");
      case SequenceType::kDictKeys:
        return write_items(sequence, "dict_keys([", "])");
      case SequenceType::kDictValues:
        return write_items(sequence, "dict_values([", "])");
      case SequenceType::kDictItems:
        return write_items(sequence, "dict_items([", "])");
      case SequenceType::kRange:
        break;
    }
    const auto& [start, stop, step] = sequence.range;
    const std::string tail = step == 1 ? ")" : str_cat(", ", step, ")");
    return sink_.append_own(str_cat("range(", start, ", ", stop, tail));
  }

  Status write_member(const Value& key, const Value& value, bool is_first) {
    if (!is_first) TVLLM_RETURN_IF_ERROR(sink_.append_own(", "));
    TVLLM_RETURN_IF_ERROR(write(key));
    TVLLM_RETURN_IF_ERROR(sink_.append_own(": "));
    return write(value);
  }

  Status write_dict(const Dict& dict) {
    TVLLM_RETURN_IF_ERROR(sink_.append_own("{"));
    for (std::size_t i = 0; i < dict.members().size(); ++i) {
      const Member& member = dict.members()[i];
      TVLLM_RETURN_IF_ERROR(write_member(member.key, member.value, i == 0));
    }
    return sink_.append_own("}");
  }

  Status write_object(const Object& object) {
    switch (object.type) {
      case ObjectType::kNamespace: {
        const auto& attributes = static_cast<const Namespace&>(object).attributes;
        TVLLM_RETURN_IF_ERROR(sink_.append_own("<Namespace {"));
        for (std::size_t i = 0; i < attributes.size(); ++i) {
          TVLLM_RETURN_IF_ERROR(
              write_member(Value::text(attributes[i].first), attributes[i].second, i == 0));
        }
        return sink_.append_own("}>");
      }
      case ObjectType::kMacro:
        TVLLM_RETURN_IF_ERROR(sink_.append_own("<Macro "));
        TVLLM_RETURN_IF_ERROR(write(macro_name(static_cast<const Macro&>(object))));
        return sink_.append_own(">");
      case ObjectType::kLoop: {
        const auto& loop = static_cast<const Loop&>(object);
        return sink_.append_own(
            str_cat("<LoopContext ", loop.index0 + 1, "/", loop.items->items.size(), ">"));
      }
      default:
        return sink_.append_own(str_cat("<", object.type_name(), ">"));
    }
  }

  TextSink& sink_;  // the caller's
  int depth_ = 0;
};

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific);
  if (error != std::errc()) return "?";
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = shortest.find('e');
  const std::int64_t exponent =
      parse_int64(shortest[e + 1] == '+' ? shortest.substr(e + 2) : shortest.substr(e + 1))
          .value_or(0);
  if (exponent < -4 || exponent >= 16) return std::string(shortest);

  std::string digits(shortest.substr(0, e));
  const std::string sign = digits.starts_with('-') ? "-" : "";
  digits.erase(0, sign.size());
  std::erase(digits, '.');
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto num_whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= num_whole) {
    return sign + digits + std::string(num_whole - digits.size(), '0') + ".0";
  }
  return sign + digits.substr(0, num_whole) + "." + digits.substr(num_whole);
}

Status write_repr(TextSink& sink, const Value& value) {
  return ReprWriter(sink).write(value);
}

Status write_text(TextSink& sink, const Value& value) {
  if (value.is(Kind::kString)) return sink.append(value.as_text());
  if (value.is(Kind::kUndefined)) return {};
  return write_repr(sink, value);
}

Result<Text> to_text(Budget& budget, const Value& value) {
  Text text;
  TextSink sink(budget, text);
  TVLLM_RETURN_IF_ERROR(write_text(sink, value));
  return text;
}

}  // namespace tvllm::chat_template
