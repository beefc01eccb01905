// SPDX-License-Identifier: Apache-2.0
#include "chat_template/percent_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "base/strings.h"
#include "base/utf8.h"
#include "chat_template/python_text.h"
#include "chat_template/search.h"
#include "chat_template/text_ops.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

constexpr std::int64_t kMaxWidth = 1'000'000;
constexpr std::int64_t kMaxPrecision = 500;

struct Conversion {
  std::optional<std::string_view> name;  // %(name)
  std::string flags;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char kind = 's';
};

// Goes through a format from left to right, taking the values that it asks for.
class Formatter {
 public:
  Formatter(Runtime& runtime, const Text& format, const Value& value)
      : runtime_(runtime), format_(format), value_(value), sink_(runtime.budget(), out_) {}

  Result<Value> run() {
    const std::string_view bytes = format_.bytes();
    while (at_ < bytes.size()) {
      const std::size_t percent = std::min(bytes.find('%', at_), bytes.size());
      TVLLM_RETURN_IF_ERROR(sink_.append(format_, at_, percent));
      at_ = percent;
      if (at_ < bytes.size()) TVLLM_RETURN_IF_ERROR(convert_one());
    }
    // A list or dict may stay unused: Python takes it for a mapping that was not asked.
    const bool is_mapping = value_.is(Kind::kDict) || (value_.is(Kind::kSequence) && !is_tuple());
    if (!is_mapping && next_ < num_values()) {
      return invalid_argument("not all arguments converted during string formatting");
    }
    return Value::text(std::move(out_));
  }

 private:
  bool is_tuple() const {
    return value_.is(Kind::kSequence) && value_.as_sequence().type == SequenceType::kTuple;
  }
  std::size_t num_values() const { return is_tuple() ? value_.as_sequence().items.size() : 1; }

  char peek() const { return at_ < format_.size() ? format_.bytes()[at_] : '\0'; }

  Status convert_one() {
    ++at_;
    TVLLM_TRY(const Conversion conversion, parse_conversion());
    if (conversion.kind == '%') return sink_.append_own("%");
    TVLLM_TRY(const Value value, take_value(conversion));
    TVLLM_TRY(const Text text, convert(conversion, value));
    return write_padded(conversion, text);
  }

  Result<Conversion> parse_conversion() {
    Conversion conversion;
    const std::string_view bytes = format_.bytes();
    if (peek() == '(') {
      const std::size_t close = bytes.find(')', at_);
      if (close == std::string_view::npos) return invalid_argument("incomplete format key");
      conversion.name = bytes.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    }
    while (peek() != '\0' && std::string_view("-+ 0#").find(peek()) != std::string_view::npos) {
      conversion.flags.push_back(bytes[at_++]);
    }
    TVLLM_TRY(conversion.width, parse_number(0, kMaxWidth));
    if (peek() == '.') {
      ++at_;
      TVLLM_TRY(conversion.precision, parse_number(0, kMaxPrecision));
    }
    if (at_ >= bytes.size()) return invalid_argument("incomplete format");
    conversion.kind = bytes[at_++];
    return conversion;
  }

  Result<std::int64_t> parse_number(std::int64_t otherwise, std::int64_t limit) {
    if (peek() == '*') return unsupported('*');
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9')
      ++at_;
    if (at_ == begin) return otherwise;
    const std::string_view bytes = format_.bytes();
    const std::optional<std::int64_t> number = parse_int64(bytes.substr(begin, at_ - begin));
    if (!number || *number > limit) {
      return invalid_argument(str_cat("a width or precision is over ", limit));
    }
    return *number;
  }

  Result<Value> take_value(const Conversion& conversion) {
    if (conversion.name) {
      if (!value_.is(Kind::kDict)) return invalid_argument("format requires a mapping");
      const Value* found = value_.as_dict().find(*conversion.name);
      if (found != nullptr) return *found;
      return invalid_argument(
          str_cat("the format's key ", quoted(*conversion.name), " is missing"));
    }
    if (next_ >= num_values()) return invalid_argument("not enough arguments for format string");
    const std::size_t i = next_++;
    return is_tuple() ? value_.as_sequence().items[i] : value_;
  }

  Result<Text> convert(const Conversion& conversion, const Value& value) {
    switch (conversion.kind) {
      case 's':
      case 'r':
        return convert_text(conversion, value);
      case 'c':
        return convert_char(value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return convert_integer(conversion, value);
      case 'f':
      case 'F':
        return convert_float(conversion, value);
      default:
        return unsupported(conversion.kind);
    }
  }

  Result<Text> convert_text(const Conversion& conversion, const Value& value) {
    Text text;
    TextSink sink(runtime_.budget(), text);
    TVLLM_RETURN_IF_ERROR(conversion.kind == 's' ? write_text(sink, value)
                                                 : write_repr(sink, value));
    if (conversion.precision < 0) return text;
    const CharIndex index(text.bytes());
    const auto kept = std::min(static_cast<std::size_t>(conversion.precision), index.num_chars());
    return text.slice(0, index.byte_of(kept));
  }

  Result<Text> convert_char(const Value& value) {
    if (value.is(Kind::kString) && count_chars(value.as_text().bytes()) == 1) {
      return value.as_text();
    }
    const std::optional<std::int64_t> code = as_index(value);
    if (!code || *code < 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) {
      return invalid_argument("%c needs a character or its code");
    }
    std::string bytes;
    append_utf8(bytes, static_cast<char32_t>(*code));
    return Text(std::move(bytes));
  }

  Result<Text> convert_integer(const Conversion& conversion, const Value& value) {
    std::optional<std::int64_t> number = as_index(value);
    const bool is_decimal = std::string_view("diu").find(conversion.kind) != std::string_view::npos;
    if (!number && is_decimal && value.is(Kind::kFloat) && std::abs(value.as_float()) < 9e18) {
      number = static_cast<std::int64_t>(value.as_float());
    }
    if (!number) {
      return invalid_argument(
          str_cat("%", conversion.kind, " needs a number, found ", value.type_name()));
    }
    const bool is_negative = *number < 0;
    const std::uint64_t magnitude = is_negative
                                        ? std::uint64_t{0} - static_cast<std::uint64_t>(*number)
                                        : static_cast<std::uint64_t>(*number);
    const int base = is_decimal ? 10 : (conversion.kind == 'o' ? 8 : 16);
    std::array<char, 32> buffer{};
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
    std::string digits(buffer.data(), error == std::errc() ? end : buffer.data());
    while (static_cast<std::int64_t>(digits.size()) < conversion.precision)
      digits.insert(0, "0");
    if (conversion.flags.find('#') != std::string::npos && base != 10) {
      digits.insert(0, base == 8 ? "0o" : "0x");
    }
    if (conversion.kind == 'X') {
      std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      });
    }
    return Text(sign_of(conversion, is_negative) + digits);
  }

  Result<Text> convert_float(const Conversion& conversion, const Value& value) {
    if (!value.is_number()) {
      return invalid_argument(str_cat("%f needs a number, found ", value.type_name()));
    }
    const double number =
        value.is(Kind::kFloat) ? value.as_float() : static_cast<double>(*as_index(value));
    std::string digits = "nan";
    if (std::isinf(number)) {
      digits = "inf";
    } else if (!std::isnan(number)) {
      const int precision = conversion.precision < 0 ? 6 : static_cast<int>(conversion.precision);
      std::array<char, 1024> buffer{};
      const auto [end, error] =
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number),
                        std::chars_format::fixed, precision);
      digits.assign(buffer.data(), error == std::errc() ? end : buffer.data());
    }
    return Text(sign_of(conversion, std::signbit(number)) + digits);
  }

  static std::string sign_of(const Conversion& conversion, bool is_negative) {
    if (is_negative) return "-";
    if (conversion.flags.find('+') != std::string::npos) return "+";
    return conversion.flags.find(' ') != std::string::npos ? " " : "";
  }

  Status write_padded(const Conversion& conversion, const Text& text) {
    const bool is_text = std::string_view("src").find(conversion.kind) != std::string_view::npos;
    const bool to_left = conversion.flags.find('-') != std::string::npos;
    const bool with_zeros = !is_text && !to_left && conversion.flags.find('0') != std::string::npos;
    std::size_t sign = 0;
    if (with_zeros && !text.empty() &&
        std::string_view("+- ").find(text.bytes()[0]) != std::string_view::npos) {
      sign = 1;
    }
    TVLLM_RETURN_IF_ERROR(sink_.append(text, 0, sign));
    TVLLM_TRY(const Text padded,
              pad(runtime_.budget(), text.slice(sign, text.size()),
                  conversion.width - static_cast<std::int64_t>(sign), Text(with_zeros ? "0" : " "),
                  to_left ? Side::kLeft : Side::kRight));
    return sink_.append(padded);
  }

  static Error unsupported(char kind) {
    return invalid_argument(str_cat("the conversion ", quoted(std::string{'%', kind}),
                                    " of a format is not supported"));
  }

  Runtime& runtime_;  // all three outlive the formatter
  const Text& format_;
  const Value& value_;
  Text out_;
  TextSink sink_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

Result<Value> percent_format(Runtime& runtime, const Text& format, const Value& value) {
  return Formatter(runtime, format, value).run();
}

}  // namespace tvllm::chat_template
