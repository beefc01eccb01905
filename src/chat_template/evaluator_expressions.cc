// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/evaluator.h"
#include "chat_template/operators.h"
#include "chat_template/predicates.h"
#include "chat_template/python_text.h"

namespace tvllm::chat_template {

namespace {

template <typename T>
const T& as(const Expr& expr) {
  return static_cast<const T&>(expr);
}

}  // namespace

Result<Value> Evaluator::eval(const Expr& expr) {
  const Runtime::Nested nested(runtime_);
  TVLLM_RETURN_IF_ERROR(located(expr.line, nested.check()));
  TVLLM_RETURN_IF_ERROR(located(expr.line, runtime_.budget().spend(1)));
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return as<Literal>(expr).value;
    case ExprKind::kName:
      return eval_name(as<Name>(expr));
    case ExprKind::kList:
      return eval_list(as<ListDisplay>(expr));
    case ExprKind::kDict:
      return eval_dict(as<DictDisplay>(expr));
    case ExprKind::kUnary:
      return eval_unary(as<Unary>(expr));
    case ExprKind::kBinary:
      return eval_binary(as<Binary>(expr));
    case ExprKind::kLogic:
      return eval_logic(as<Logic>(expr));
    case ExprKind::kCompare:
      return eval_compare(as<Compare>(expr));
    case ExprKind::kCondition:
      return eval_condition(as<Condition>(expr));
    case ExprKind::kAttribute: {
      TVLLM_TRY(const Value object, eval(*as<Attribute>(expr).object));
      return located(expr.line, get_attribute(runtime_, object, as<Attribute>(expr).name));
    }
    case ExprKind::kSubscript: {
      TVLLM_TRY(const Value object, eval(*as<Subscript>(expr).object));
      TVLLM_TRY(const Value index, eval(*as<Subscript>(expr).index));
      return located(expr.line, get_item(runtime_, object, index));
    }
    case ExprKind::kSlice:
      return eval_slice(as<Slice>(expr));
    case ExprKind::kCall:
      return eval_call(as<Call>(expr), nullptr);
    case ExprKind::kFilter:
      return eval_filter(as<Filter>(expr));
    case ExprKind::kTest:
      return eval_test(as<Test>(expr));
  }
  return Value();
}

Value Evaluator::look_up(NameId name) const {
  const Value* found = scope_->find(name);
  return found != nullptr ? *found : globals_[name];
}

Result<Value> Evaluator::eval_name(const Name& expr) {
  Value value = look_up(expr.id);
  if (!value.is(Kind::kUndefined)) return value;
  // Undefined by assignment keeps its own reason.
  if (scope_->find(expr.id) != nullptr) return value;
  return Value::undefined(str_cat("'", template_.names[expr.id], "' is undefined"));
}

Result<Value> Evaluator::eval_list(const ListDisplay& expr) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const ExprPtr& item : expr.items) {
    TVLLM_TRY(Value value, eval(*item));
    items.push_back(std::move(value));
  }
  const SequenceType type = expr.is_tuple ? SequenceType::kTuple : SequenceType::kList;
  return located(expr.line, runtime_.make_sequence(type, std::move(items)));
}

Result<Value> Evaluator::eval_dict(const DictDisplay& expr) {
  std::vector<Member> members;
  members.reserve(expr.members.size());
  for (const auto& member : expr.members) {
    TVLLM_TRY(Value key, eval(*member.first));
    TVLLM_TRY(Value value, eval(*member.second));
    members.push_back({std::move(key), std::move(value)});
  }
  return located(expr.line, runtime_.make_dict(std::move(members)));
}

Result<Value> Evaluator::eval_unary(const Unary& expr) {
  TVLLM_TRY(const Value operand, eval(*expr.operand));
  return located(expr.line, apply_unary(expr.op, operand));
}

Result<Value> Evaluator::eval_binary(const Binary& expr) {
  TVLLM_TRY(Value left, eval(*expr.first));
  for (std::size_t next = 0; next < expr.rest.size();) {
    const BinaryOp op = expr.rest[next].first;
    if (op == BinaryOp::kConcat || (op == BinaryOp::kAdd && left.is(Kind::kString))) {
      TVLLM_TRY(left, eval_text_chain(expr, left, next));
      continue;
    }
    TVLLM_TRY(const Value right, eval(*expr.rest[next].second));
    TVLLM_TRY(left, located(expr.line, apply_binary(runtime_, op, left, right)));
    ++next;
  }
  return left;
}

// 'a' + b + c, or a ~ b ~ c, into one text without a copy for each operator.
Result<Value> Evaluator::eval_text_chain(const Binary& expr, const Value& left, std::size_t& next) {
  const BinaryOp op = expr.rest[next].first;
  Text text;
  TextSink out(runtime_.budget(), text);
  TVLLM_RETURN_IF_ERROR(located(expr.line, write_text(out, left)));
  for (; next < expr.rest.size() && expr.rest[next].first == op; ++next) {
    TVLLM_TRY(const Value right, eval(*expr.rest[next].second));
    if (op == BinaryOp::kAdd && !right.is(Kind::kString)) {
      return located(expr.line, apply_binary(runtime_, op, Value::string(""), right));
    }
    TVLLM_RETURN_IF_ERROR(located(expr.line, write_text(out, right)));
  }
  return Value::text(std::move(text));
}

// The operand that decides, as in Python, not a bool.
Result<Value> Evaluator::eval_logic(const Logic& expr) {
  Value value;
  for (const ExprPtr& operand : expr.operands) {
    TVLLM_TRY(value, eval(*operand));
    if (is_truthy(value) != expr.is_and) break;
  }
  return value;
}

// a < b < c holds if both parts do.
Result<Value> Evaluator::eval_compare(const Compare& expr) {
  TVLLM_TRY(Value left, eval(*expr.first));
  for (const auto& link : expr.rest) {
    TVLLM_TRY(Value right, eval(*link.second));
    TVLLM_TRY(const bool holds,
              located(expr.line, apply_compare(runtime_, link.first, left, right)));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Evaluator::eval_condition(const Condition& expr) {
  TVLLM_TRY(const Value test, eval(*expr.test));
  if (is_truthy(test)) return eval(*expr.value);
  if (expr.otherwise != nullptr) return eval(*expr.otherwise);
  return Value::undefined("the inline if was false and has no else");
}

Result<std::optional<std::int64_t>> Evaluator::eval_bound(const ExprPtr& expr) {
  if (expr == nullptr) return std::optional<std::int64_t>();
  TVLLM_TRY(const Value value, eval(*expr));
  if (value.is(Kind::kNone)) return std::optional<std::int64_t>();
  const std::optional<std::int64_t> index = as_index(value);
  if (index) return index;
  return error_at(ErrorCode::kInvalidArgument, expr->line,
                  value.is(Kind::kUndefined)
                      ? value.undefined_reason()
                      : str_cat("slice bounds must be integers, found ", value.type_name()));
}

Result<Value> Evaluator::eval_slice(const Slice& expr) {
  TVLLM_TRY(const Value object, eval(*expr.object));
  SliceBounds bounds;
  TVLLM_TRY(bounds.start, eval_bound(expr.start));
  TVLLM_TRY(bounds.stop, eval_bound(expr.stop));
  TVLLM_TRY(bounds.step, eval_bound(expr.step));
  return located(expr.line, get_slice(runtime_, object, bounds));
}

Result<Value> Evaluator::eval_filter(const Filter& expr) {
  Value subject;
  if (expr.subject != nullptr) {
    TVLLM_TRY(subject, eval(*expr.subject));
  } else if (block_text_ != nullptr) {
    subject = *block_text_;
  }
  TVLLM_TRY(Arguments arguments, eval_arguments(expr.arguments, expr.line));
  return located(expr.line, expr.entry->function(runtime_, subject, arguments));
}

Result<Value> Evaluator::eval_test(const Test& expr) {
  TVLLM_TRY(const Value subject, eval(*expr.subject));
  TVLLM_TRY(Arguments arguments, eval_arguments(expr.arguments, expr.line));
  TVLLM_TRY(const bool holds,
            located(expr.line, expr.entry->function(runtime_, subject, arguments)));
  return Value::boolean(holds);
}

}  // namespace tvllm::chat_template
