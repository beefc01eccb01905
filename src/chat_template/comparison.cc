// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/operators.h"
#include "chat_template/search.h"

namespace tvllm::chat_template {

namespace {

bool is_nan(const Value& value) {
  return value.is(Kind::kFloat) && std::isnan(value.as_float());
}

Result<bool> sequences_are_equal(Budget& budget, const Sequence& left, const Sequence& right) {
  if (left.type != right.type || left.items.size() != right.items.size()) return false;
  for (std::size_t i = 0; i < left.items.size(); ++i) {
    TVLLM_TRY(const bool equal, are_equal(budget, left.items[i], right.items[i]));
    if (!equal) return false;
  }
  return true;
}

Result<bool> dicts_are_equal(Budget& budget, const Dict& left, const Dict& right) {
  if (left.members().size() != right.members().size()) return false;
  for (const Member& member : left.members()) {
    const Value* other = right.find(member.key);
    if (other == nullptr) return false;
    TVLLM_TRY(const bool equal, are_equal(budget, member.value, *other));
    if (!equal) return false;
  }
  return true;
}

bool is_ordered_sequence(const Value& value) {
  return value.is(Kind::kSequence) && (value.as_sequence().type == SequenceType::kList ||
                                       value.as_sequence().type == SequenceType::kTuple);
}

Result<bool> compare_order(Budget& budget, CompareOp op, const Value& left, const Value& right);

// By the first items that differ, else by length.
Result<bool> compare_sequences(Budget& budget, CompareOp op, const Sequence& left,
                               const Sequence& right) {
  for (std::size_t i = 0; i < std::min(left.items.size(), right.items.size()); ++i) {
    TVLLM_TRY(const bool equal, are_equal(budget, left.items[i], right.items[i]));
    if (!equal) return compare_order(budget, op, left.items[i], right.items[i]);
  }
  return compare_order(budget, op, Value::integer(static_cast<std::int64_t>(left.items.size())),
                       Value::integer(static_cast<std::int64_t>(right.items.size())));
}

bool holds(CompareOp op, int order) {
  switch (op) {
    case CompareOp::kLess:
      return order < 0;
    case CompareOp::kLessEqual:
      return order <= 0;
    case CompareOp::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

std::string_view symbol_of(CompareOp op) {
  constexpr std::string_view kSymbols[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kSymbols[static_cast<std::size_t>(op)];
}

// One of < <= > >=.
Result<bool> compare_order(Budget& budget, CompareOp op, const Value& left, const Value& right) {
  TVLLM_RETURN_IF_ERROR(budget.spend(1));
  if (left.is_number() && right.is_number()) {
    if (is_nan(left) || is_nan(right)) return false;
    return holds(op, compare_numbers(left, right));
  }
  if (left.is(Kind::kString) && right.is(Kind::kString)) {
    const std::string& a = left.as_text().bytes();
    const std::string& b = right.as_text().bytes();
    TVLLM_RETURN_IF_ERROR(budget.spend_bytes(std::min(a.size(), b.size())));
    return holds(op, a.compare(b));  // the order of bytes is the order of code points
  }
  if (is_ordered_sequence(left) && is_ordered_sequence(right) &&
      left.as_sequence().type == right.as_sequence().type) {
    return compare_sequences(budget, op, left.as_sequence(), right.as_sequence());
  }
  return operand_error(symbol_of(op), left, right);
}

}  // namespace

bool is_truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return value.as_bool();
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_float() != 0.0;
    case Kind::kString:
      return !value.as_text().empty();
    case Kind::kSequence:
      return !value.as_sequence().items.empty();
    case Kind::kDict:
      return !value.as_dict().members().empty();
    case Kind::kObject:
      return true;
  }
  return true;
}

Result<bool> are_equal(Budget& budget, const Value& left, const Value& right) {
  TVLLM_RETURN_IF_ERROR(budget.spend(1));
  if (left.is_number() && right.is_number()) {
    return !is_nan(left) && !is_nan(right) && compare_numbers(left, right) == 0;
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kString: {
      const std::string& a = left.as_text().bytes();
      const std::string& b = right.as_text().bytes();
      if (a.size() != b.size()) return false;
      TVLLM_RETURN_IF_ERROR(budget.spend_bytes(a.size()));
      return a == b;
    }
    case Kind::kSequence:
      if (left.is_same(right)) return true;
      return sequences_are_equal(budget, left.as_sequence(), right.as_sequence());
    case Kind::kDict:
      if (left.is_same(right)) return true;
      return dicts_are_equal(budget, left.as_dict(), right.as_dict());
    default:
      return left.is_same(right);
  }
}

Result<bool> is_less(Budget& budget, const Value& left, const Value& right) {
  return compare_order(budget, CompareOp::kLess, left, right);
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  Budget& budget = runtime.budget();
  if (container.is(Kind::kString)) {
    if (!item.is(Kind::kString)) {
      if (item.is(Kind::kUndefined)) return invalid_argument(item.undefined_reason());
      return invalid_argument(
          str_cat("'in <string>' requires string as left operand, not ", item.type_name()));
    }
    const std::string& haystack = container.as_text().bytes();
    TVLLM_RETURN_IF_ERROR(budget.spend_bytes(haystack.size()));
    return Finder(item.as_text().bytes()).find(haystack, 0) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) {
    TVLLM_TRY(const Value* found, runtime.look_up(container.as_dict(), item));
    return found != nullptr;
  }
  TVLLM_TRY(const SequencePtr items, iterate(runtime, container));
  for (const Value& candidate : items->items) {
    TVLLM_TRY(const bool equal, are_equal(budget, candidate, item));
    if (equal) return true;
  }
  return false;
}

Result<bool> apply_compare(Runtime& runtime, CompareOp op, const Value& left, const Value& right) {
  switch (op) {
    case CompareOp::kEqual:
      return are_equal(runtime.budget(), left, right);
    case CompareOp::kNotEqual: {
      TVLLM_TRY(const bool equal, are_equal(runtime.budget(), left, right));
      return !equal;
    }
    case CompareOp::kIn:
      return contains(runtime, right, left);
    case CompareOp::kNotIn: {
      TVLLM_TRY(const bool found, contains(runtime, right, left));
      return !found;
    }
    default:
      return compare_order(runtime.budget(), op, left, right);
  }
}

}  // namespace tvllm::chat_template
