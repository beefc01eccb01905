// SPDX-License-Identifier: Apache-2.0
#include "chat_template/predicates.h"

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/filters.h"
#include "chat_template/lexer.h"
#include "chat_template/methods.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"

namespace tvllm::chat_template {

namespace {

using SimplePredicate = bool (*)(const Value&);

bool is_boolean(const Value& value) {
  return value.is(Kind::kBool);
}
bool is_true(const Value& value) {
  return value.is(Kind::kBool) && value.as_bool();
}
bool is_false(const Value& value) {
  return value.is(Kind::kBool) && !value.as_bool();
}
bool is_defined(const Value& value) {
  return !value.is(Kind::kUndefined);
}
bool is_undefined(const Value& value) {
  return value.is(Kind::kUndefined);
}
bool is_none(const Value& value) {
  return value.is(Kind::kNone);
}
bool is_string(const Value& value) {
  return value.is(Kind::kString);
}
bool is_integer(const Value& value) {
  return value.is(Kind::kInt);
}
bool is_float(const Value& value) {
  return value.is(Kind::kFloat);
}
bool is_number(const Value& value) {
  return value.is_number();
}
bool is_mapping(const Value& value) {
  return value.is(Kind::kDict);
}
bool is_iterable_value(const Value& value) {
  return is_iterable(value) || object_as<Loop>(value, ObjectType::kLoop) != nullptr;
}
bool is_never(const Value& /*value*/) {
  return false;
}

// Has a length and can be indexed; an undefined value answers both.
bool is_sequence(const Value& value) {
  if (!value.is(Kind::kSequence)) return is_iterable(value) && !value.is(Kind::kObject);
  const SequenceType type = value.as_sequence().type;
  return type == SequenceType::kList || type == SequenceType::kTuple ||
         type == SequenceType::kRange;
}

template <SimplePredicate predicate>
Result<bool> simple(Runtime& /*runtime*/, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("the test", arguments, {}));
  return predicate(subject);
}

template <CompareOp op>
Result<bool> compare(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("the test", arguments, {"other"}, 1));
  return apply_compare(runtime, op, subject, bound[0]);
}

Result<bool> has_remainder(Runtime& runtime, const Value& subject, const Value& divisor,
                           std::int64_t wanted) {
  TVLLM_TRY(const Value remainder, apply_binary(runtime, BinaryOp::kModulo, subject, divisor));
  return are_equal(runtime.budget(), remainder, Value::integer(wanted));
}

template <int wanted>
Result<bool> parity(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("the test", arguments, {}));
  return has_remainder(runtime, subject, Value::integer(2), wanted);
}

Result<bool> divisible_by(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("divisibleby", arguments, {"num"}, 1));
  return has_remainder(runtime, subject, bound[0], 0);
}

Result<bool> same_as(Runtime& /*runtime*/, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("sameas", arguments, {"other"}, 1));
  return subject.is_same(bound[0]);
}

// "upper" and "lower", through the methods isupper and islower.
template <bool wants_upper>
Result<bool> has_case(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("the test", arguments, {}));
  TVLLM_TRY(Text text, to_text(runtime.budget(), subject));
  Arguments none;
  TVLLM_TRY(const Value answer, find_string_method(wants_upper ? "isupper" : "islower")
                                    ->function(runtime, Value::text(std::move(text)), none));
  return answer.as_bool();
}

Result<bool> names_filter(Runtime& /*runtime*/, const Value& subject, Arguments& /*arguments*/) {
  return subject.is(Kind::kString) && find_filter(subject.as_text().bytes()) != nullptr;
}

Result<bool> names_test(Runtime& /*runtime*/, const Value& subject, Arguments& /*arguments*/) {
  return subject.is(Kind::kString) && find_predicate(subject.as_text().bytes()) != nullptr;
}

constexpr PredicateEntry kPredicates[] = {
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"none", simple<is_none>},
    {"boolean", simple<is_boolean>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"string", simple<is_string>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"number", simple<is_number>},
    {"mapping", simple<is_mapping>},
    {"iterable", simple<is_iterable_value>},
    {"sequence", simple<is_sequence>},
    {"callable", simple<is_callable>},
    {"escaped", simple<is_never>},
    {"upper", has_case<true>},
    {"lower", has_case<false>},
    {"odd", parity<1>},
    {"even", parity<0>},
    {"divisibleby", divisible_by},
    {"sameas", same_as},
    {"filter", names_filter},
    {"test", names_test},
    {"in", compare<CompareOp::kIn>},
    {"==", compare<CompareOp::kEqual>},
    {"eq", compare<CompareOp::kEqual>},
    {"equalto", compare<CompareOp::kEqual>},
    {"!=", compare<CompareOp::kNotEqual>},
    {"ne", compare<CompareOp::kNotEqual>},
    {">", compare<CompareOp::kGreater>},
    {"gt", compare<CompareOp::kGreater>},
    {"greaterthan", compare<CompareOp::kGreater>},
    {">=", compare<CompareOp::kGreaterEqual>},
    {"ge", compare<CompareOp::kGreaterEqual>},
    {"<", compare<CompareOp::kLess>},
    {"lt", compare<CompareOp::kLess>},
    {"lessthan", compare<CompareOp::kLess>},
    {"<=", compare<CompareOp::kLessEqual>},
    {"le", compare<CompareOp::kLessEqual>},
};

}  // namespace

const PredicateEntry* find_predicate(std::string_view name) {
  for (const PredicateEntry& entry : kPredicates) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Error unknown_predicate(std::string_view name, int line) {
  return error_at(ErrorCode::kInvalidArgument, line,
                  str_cat("there is no test named ", quoted(name, 40)));
}

bool is_callable(const Value& value) {
  if (value.is(Kind::kUndefined)) return true;  // Jinja's undefined has a way to fail when called
  if (!value.is(Kind::kObject)) return false;
  switch (value.as_object().type) {
    case ObjectType::kMacro:
    case ObjectType::kLoop:
    case ObjectType::kMethod:
    case ObjectType::kFunction:
    case ObjectType::kJoiner:
      return true;
    default:
      return false;
  }
}

}  // namespace tvllm::chat_template
