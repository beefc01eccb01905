// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "base/strings.h"
#include "chat_template/filters.h"
#include "chat_template/operators.h"
#include "chat_template/runtime.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

Error range_error() {
  return invalid_argument("the number does not fit 64 bits");
}

// What Python's int() and float() read in a text: blanks around it and single underscores between
// digits do not count. Nothing if the text cannot be a number.
std::optional<std::string> plain_number(std::string_view text) {
  text = text.substr(0, end_without_space(text));
  text.remove_prefix(skip_space(text, 0));
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
    } else if (i == 0 || i + 1 == text.size() || text[i - 1] == '_' ||
               !is_alnum(static_cast<unsigned char>(text[i - 1])) ||
               !is_alnum(static_cast<unsigned char>(text[i + 1]))) {
      return std::nullopt;
    }
  }
  if (out.starts_with('+') && out.size() > 1 && out[1] != '-' && out[1] != '+') out.erase(0, 1);
  return out;
}

enum class IntOutcome { kRead, kNoNumber, kTooLarge };

IntOutcome read_int(std::string_view text, int base, std::int64_t& value) {
  const std::optional<std::string> plain = plain_number(text);
  if (!plain) return IntOutcome::kNoNumber;
  std::string digits = *plain;
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  if (digits.size() > sign + 2 && digits[sign] == '0') {
    const char kind = static_cast<char>(digits[sign + 1] | 0x20);
    const bool is_prefix =
        (base == 16 && kind == 'x') || (base == 8 && kind == 'o') || (base == 2 && kind == 'b');
    if (is_prefix) digits.erase(sign, 2);
  }
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (digits.empty() || end != digits.data() + digits.size()) return IntOutcome::kNoNumber;
  if (error == std::errc::result_out_of_range) return IntOutcome::kTooLarge;
  return error == std::errc() ? IntOutcome::kRead : IntOutcome::kNoNumber;
}

std::optional<double> read_float(std::string_view text) {
  const std::optional<std::string> plain = plain_number(text);
  if (!plain || plain->empty()) return std::nullopt;
  const std::string lower = to_lower_ascii(*plain);
  const bool is_word = lower.find_first_not_of("-0123456789.e+") != std::string::npos;
  if (is_word) {
    const bool is_negative = lower.starts_with('-');
    const std::string_view word = std::string_view(lower).substr(is_negative ? 1 : 0);
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word != "inf" && word != "infinity") return std::nullopt;
    return is_negative ? -std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::infinity();
  }
  double value = 0.0;
  const auto [end, error] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
  if (end != lower.data() + lower.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(lower.c_str(), nullptr);
  return error == std::errc() ? std::optional<double>(value) : std::nullopt;
}

Result<Value> truncated(double value) {
  if (!(std::abs(value) < 9223372036854775808.0)) return range_error();
  return Value::integer(static_cast<std::int64_t>(value));
}

Result<Value> int_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("int", arguments, {"default", "base"}));
  TVLLM_TRY(const std::int64_t base, bound.integer(1, 10));
  if (base < 2 || base > 36) return invalid_argument("int: 'base' must be 2 to 36");
  const Value otherwise = bound.has(0) ? bound[0] : Value::integer(0);
  if (subject.is(Kind::kUndefined)) return invalid_argument(subject.undefined_reason());
  if (const std::optional<std::int64_t> value = as_index(subject)) return Value::integer(*value);
  if (subject.is(Kind::kFloat)) {
    return std::isnan(subject.as_float()) ? Result<Value>(otherwise)
                                          : truncated(subject.as_float());
  }
  if (!subject.is(Kind::kString)) return otherwise;
  const std::string& text = subject.as_text().bytes();
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(4 * text.size()));
  std::int64_t value = 0;
  switch (read_int(text, static_cast<int>(base), value)) {
    case IntOutcome::kRead:
      return Value::integer(value);
    case IntOutcome::kTooLarge:
      return range_error();
    case IntOutcome::kNoNumber:
      break;
  }
  const std::optional<double> number = read_float(text);
  return number && std::isfinite(*number) ? truncated(*number) : Result<Value>(otherwise);
}

Result<Value> float_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("float", arguments, {"default"}));
  const Value otherwise = bound.has(0) ? bound[0] : Value::real(0.0);
  if (subject.is(Kind::kUndefined)) return invalid_argument(subject.undefined_reason());
  if (subject.is(Kind::kFloat)) return subject;
  if (const std::optional<std::int64_t> value = as_index(subject)) {
    return Value::real(static_cast<double>(*value));
  }
  if (!subject.is(Kind::kString)) return otherwise;
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(4 * subject.as_text().size()));
  const std::optional<double> number = read_float(subject.as_text().bytes());
  return number ? Value::real(*number) : otherwise;
}

Result<Value> abs_filter(Runtime& /*runtime*/, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("abs", arguments, {}));
  if (subject.is(Kind::kFloat)) return Value::real(std::abs(subject.as_float()));
  const std::optional<std::int64_t> value = as_index(subject);
  if (value && *value >= 0) return Value::integer(*value);
  if (value) return apply_unary(UnaryOp::kNegate, Value::integer(*value));
  if (subject.is(Kind::kUndefined)) return invalid_argument(subject.undefined_reason());
  return invalid_argument(str_cat("abs needs a number, found ", subject.type_name()));
}

// Half to even on the exact decimal value, as Python rounds.
double round_to(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 323) return value;
  if (precision < -308) return std::copysign(0.0, value);
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return round_to(value / unit, 0) * unit;
  }
  std::array<char, 1024> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, static_cast<int>(precision));
  double rounded = value;
  if (error == std::errc()) std::from_chars(buffer.data(), end, rounded);
  return rounded;
}

Result<Value> round_filter(Runtime& /*runtime*/, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("round", arguments, {"precision", "method"}));
  TVLLM_TRY(const std::int64_t precision, bound.integer(0, 0));
  TVLLM_TRY(const Text method, bound.text(1, "common"));
  if (subject.is(Kind::kUndefined)) return invalid_argument(subject.undefined_reason());
  if (!subject.is_number()) {
    return invalid_argument(str_cat("round needs a number, found ", subject.type_name()));
  }
  const std::optional<std::int64_t> whole = as_index(subject);
  const double value = whole ? static_cast<double>(*whole) : subject.as_float();
  if (method.bytes() == "common") {
    if (!whole) return Value::real(round_to(value, precision));
    return precision >= 0 ? Value::integer(*whole) : truncated(round_to(value, precision));
  }
  if (method.bytes() != "ceil" && method.bytes() != "floor") {
    return invalid_argument("round: 'method' must be common, ceil or floor");
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value * unit;
  if (!std::isfinite(scaled) || unit == 0.0) return range_error();
  return Value::real((method.bytes() == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

constexpr Builtin kFilters[] = {
    {"int", int_filter}, {"float", float_filter}, {"abs", abs_filter}, {"round", round_filter}};

}  // namespace

std::span<const Builtin> number_filters() {
  return kFilters;
}

}  // namespace tvllm::chat_template
