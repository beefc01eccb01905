// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <optional>

#include "base/strings.h"
#include "chat_template/operators.h"
#include "chat_template/percent_format.h"

namespace tvllm::chat_template {

namespace {

Error overflow_error(std::string_view op) {
  return invalid_argument(str_cat("the result of ", op, " does not fit 64 bits"));
}

double to_double(const Value& value) {
  if (value.is(Kind::kFloat)) return value.as_float();
  return static_cast<double>(*as_index(value));
}

// What * repeats, or nullptr.
bool is_repeatable(const Value& value) {
  if (value.is(Kind::kString)) return true;
  return value.is(Kind::kSequence) && (value.as_sequence().type == SequenceType::kList ||
                                       value.as_sequence().type == SequenceType::kTuple);
}

Result<Value> repeat(Runtime& runtime, const Value& value, std::int64_t times) {
  const std::uint64_t count = times > 0 ? static_cast<std::uint64_t>(times) : 0;
  const bool is_text = value.is(Kind::kString);
  const std::size_t size = is_text ? value.as_text().size() : value.as_sequence().items.size();
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(count, std::uint64_t{size}, &total)) {
    total = std::numeric_limits<std::uint64_t>::max();
  }
  if (is_text) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend_text(total));
    Text text;
    for (std::uint64_t i = 0; size > 0 && i < count; ++i)
      text.append(value.as_text());
    return Value::text(std::move(text));
  }
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend(total));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(total));
  for (std::uint64_t i = 0; size > 0 && i < count; ++i) {
    items.insert(items.end(), value.as_sequence().items.begin(), value.as_sequence().items.end());
  }
  return runtime.make_sequence(value.as_sequence().type, std::move(items));
}

Result<Value> concatenate(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is(Kind::kString)) {
    TVLLM_RETURN_IF_ERROR(
        runtime.budget().spend_text(left.as_text().size() + right.as_text().size()));
    Text text = left.as_text();
    text.append(right.as_text());
    return Value::text(std::move(text));
  }
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(left.as_sequence().items.size() +
                                                     right.as_sequence().items.size()));
  std::vector<Value> items = left.as_sequence().items;
  items.insert(items.end(), right.as_sequence().items.begin(), right.as_sequence().items.end());
  return runtime.make_sequence(left.as_sequence().type, std::move(items));
}

Result<Value> add(Runtime& runtime, const Value& left, const Value& right) {
  if (left.is(Kind::kString) && right.is(Kind::kString)) return concatenate(runtime, left, right);
  if (is_repeatable(left) && left.is(Kind::kSequence) && right.is(Kind::kSequence) &&
      left.as_sequence().type == right.as_sequence().type) {
    return concatenate(runtime, left, right);
  }
  if (left.is(Kind::kString) && !right.is(Kind::kUndefined)) {
    return invalid_argument(
        str_cat("can only concatenate str (not \"", right.type_name(), "\") to str"));
  }
  return operand_error("+", left, right);
}

struct FloatDivision {
  double quotient;
  double remainder;
};

// Python's: the remainder has the divisor's sign, the quotient is rounded down.
FloatDivision floor_divide(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0.0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1.0;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0.0) return {std::copysign(0.0, a / b), remainder};
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1.0;
  return {whole, remainder};
}

Result<Value> apply_floats(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value::real(a + b);
    case BinaryOp::kSubtract:
      return Value::real(a - b);
    case BinaryOp::kMultiply:
      return Value::real(a * b);
    default:
      break;
  }
  if (op != BinaryOp::kPower) {
    if (b == 0.0) return invalid_argument("division by zero");
    if (op == BinaryOp::kDivide) return Value::real(a / b);
    const FloatDivision division = floor_divide(a, b);
    return Value::real(op == BinaryOp::kModulo ? division.remainder : division.quotient);
  }
  if (a == 0.0 && b < 0.0) return invalid_argument("0.0 cannot be raised to a negative power");
  const double power = std::pow(a, b);
  if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) {
    return invalid_argument("complex numbers are not supported");
  }
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) {
    return invalid_argument("the result of ** is out of range");
  }
  return Value::real(power);
}

std::optional<std::int64_t> integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

Result<Value> divide_integers(BinaryOp op, std::int64_t a, std::int64_t b) {
  if (b == 0) return invalid_argument("division by zero");
  if (op == BinaryOp::kDivide) {
    return Value::real(static_cast<double>(a) / static_cast<double>(b));
  }
  if (b == -1) {  // the least integer has no counterpart
    if (op == BinaryOp::kModulo) return Value::integer(0);
    std::int64_t negated = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negated)) return overflow_error("//");
    return Value::integer(negated);
  }
  const std::int64_t remainder = a % b;
  const bool is_rounded_up = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == BinaryOp::kModulo) return Value::integer(is_rounded_up ? remainder + b : remainder);
  return Value::integer(a / b - (is_rounded_up ? 1 : 0));
}

Result<Value> apply_integers(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return overflow_error("+");
      return Value::integer(result);
    case BinaryOp::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow_error("-");
      return Value::integer(result);
    case BinaryOp::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow_error("*");
      return Value::integer(result);
    case BinaryOp::kPower: {
      if (b < 0) return apply_floats(op, static_cast<double>(a), static_cast<double>(b));
      const std::optional<std::int64_t> power = integer_power(a, b);
      if (!power) return overflow_error("**");
      return Value::integer(*power);
    }
    default:
      return divide_integers(op, a, b);
  }
}

std::string_view symbol_of(BinaryOp op) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**", "~"};
  return kSymbols[static_cast<std::size_t>(op)];
}

}  // namespace

Error operand_error(std::string_view op, const Value& left, const Value& right) {
  for (const Value* operand : {&left, &right}) {
    if (operand->is(Kind::kUndefined)) return invalid_argument(operand->undefined_reason());
  }
  return invalid_argument(str_cat("unsupported operand types for ", op, ": ", left.type_name(),
                                  " and ", right.type_name()));
}

Result<Value> apply_binary(Runtime& runtime, BinaryOp op, const Value& left, const Value& right) {
  const std::optional<std::int64_t> a = as_index(left);
  const std::optional<std::int64_t> b = as_index(right);
  if (a && b) return apply_integers(op, *a, *b);
  if (left.is_number() && right.is_number()) {
    return apply_floats(op, to_double(left), to_double(right));
  }
  if (op == BinaryOp::kAdd) return add(runtime, left, right);
  if (op == BinaryOp::kMultiply && is_repeatable(left) && b) return repeat(runtime, left, *b);
  if (op == BinaryOp::kMultiply && is_repeatable(right) && a) return repeat(runtime, right, *a);
  if (op == BinaryOp::kModulo && left.is(Kind::kString)) {
    return percent_format(runtime, left.as_text(), right);
  }
  return operand_error(symbol_of(op), left, right);
}

Result<Value> apply_unary(UnaryOp op, const Value& operand) {
  if (op == UnaryOp::kNot) return Value::boolean(!is_truthy(operand));
  const bool negate = op == UnaryOp::kNegate;
  if (operand.is(Kind::kFloat)) {
    return Value::real(negate ? -operand.as_float() : operand.as_float());
  }
  const std::optional<std::int64_t> value = as_index(operand);
  if (operand.is(Kind::kUndefined)) return invalid_argument(operand.undefined_reason());
  if (!value) {
    return invalid_argument(
        str_cat("bad operand type for unary ", negate ? "-" : "+", ": ", operand.type_name()));
  }
  if (!negate) return Value::integer(*value);
  std::int64_t result = 0;
  if (__builtin_sub_overflow(std::int64_t{0}, *value, &result)) return overflow_error("-");
  return Value::integer(result);
}

}  // namespace tvllm::chat_template
