// SPDX-License-Identifier: Apache-2.0
// Python's operators on values.
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat_template/expression.h"
#include "chat_template/runtime.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

bool is_truthy(const Value& value);

// Any operator but ~, which is the evaluator's.
Result<Value> apply_binary(Runtime& runtime, BinaryOp op, const Value& left, const Value& right);
Result<Value> apply_unary(UnaryOp op, const Value& operand);
Result<bool> apply_compare(Runtime& runtime, CompareOp op, const Value& left, const Value& right);

Result<bool> are_equal(Budget& budget, const Value& left, const Value& right);
// left < right, where Python orders them at all.
Result<bool> is_less(Budget& budget, const Value& left, const Value& right);
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);

// "unsupported operand type(s) for +: 'int' and 'str'"; of an undefined value, why it is undefined.
Error operand_error(std::string_view op, const Value& left, const Value& right);

}  // namespace tvllm::chat_template
