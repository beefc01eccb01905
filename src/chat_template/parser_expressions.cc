// SPDX-License-Identifier: Apache-2.0
// Operators, loosest binding first.
#include <optional>

#include "base/strings.h"
#include "chat_template/parser.h"

namespace tvllm::chat_template {

Result<ExprPtr> Parser::finish(ExprPtr expr) const {
  int height = 0;
  for_each_child(*expr, [&height](const Expr& child) {
    if (child.height > height) height = child.height;
  });
  expr->height = height + 1;
  if (expr->height > limits_.max_nesting) {
    return error_at(
        ErrorCode::kTooLarge, expr->line,
        str_cat("an expression is nested more than ", limits_.max_nesting, " levels deep"));
  }
  return expr;
}

// a, b, c without brackets makes a tuple; one expression is itself.
Result<ExprPtr> Parser::parse_tuple(bool with_condition, bool in_parentheses) {
  auto tuple = std::make_unique<ListDisplay>(line());
  tuple->is_tuple = true;
  bool has_comma = false;
  const auto at_end = [this] {
    return at(TokenType::kPrintEnd) || at(TokenType::kBlockEnd) || at_operator(")");
  };
  while (!at_end()) {
    TVLLM_TRY(ExprPtr item, with_condition ? parse_expression() : parse_or());
    tuple->items.push_back(std::move(item));
    if (!skip_operator(",")) break;
    has_comma = true;
  }
  if (!has_comma && !tuple->items.empty()) return std::move(tuple->items[0]);
  if (!has_comma && !in_parentheses) return unexpected("an expression");
  return finish(std::move(tuple));
}

Result<ExprPtr> Parser::parse_expression() {
  const Nested nested(depth_);
  TVLLM_RETURN_IF_ERROR(check_nesting());
  TVLLM_TRY(ExprPtr value, parse_or());
  while (at_name("if")) {
    auto condition = std::make_unique<Condition>(line());
    advance();
    condition->value = std::move(value);
    TVLLM_TRY(condition->test, parse_or());
    if (skip_name("else")) {
      TVLLM_TRY(condition->otherwise, parse_expression());
    }
    TVLLM_TRY(value, finish(std::move(condition)));
  }
  return value;
}

Result<ExprPtr> Parser::parse_or() {
  TVLLM_TRY(ExprPtr first, parse_and());
  if (!at_name("or")) return first;
  auto logic = std::make_unique<Logic>(line());
  logic->is_and = false;
  logic->operands.push_back(std::move(first));
  while (skip_name("or")) {
    TVLLM_TRY(ExprPtr operand, parse_and());
    logic->operands.push_back(std::move(operand));
  }
  return finish(std::move(logic));
}

Result<ExprPtr> Parser::parse_and() {
  TVLLM_TRY(ExprPtr first, parse_not());
  if (!at_name("and")) return first;
  auto logic = std::make_unique<Logic>(line());
  logic->operands.push_back(std::move(first));
  while (skip_name("and")) {
    TVLLM_TRY(ExprPtr operand, parse_not());
    logic->operands.push_back(std::move(operand));
  }
  return finish(std::move(logic));
}

Result<ExprPtr> Parser::parse_not() {
  if (!at_name("not")) return parse_compare();
  const Nested nested(depth_);
  TVLLM_RETURN_IF_ERROR(check_nesting());
  auto negation = std::make_unique<Unary>(line());
  advance();
  TVLLM_TRY(negation->operand, parse_not());
  return finish(std::move(negation));
}

Result<ExprPtr> Parser::parse_compare() {
  constexpr std::pair<std::string_view, CompareOp> kOperators[] = {
      {"==", CompareOp::kEqual},  {"!=", CompareOp::kNotEqual},
      {"<", CompareOp::kLess},    {"<=", CompareOp::kLessEqual},
      {">", CompareOp::kGreater}, {">=", CompareOp::kGreaterEqual}};
  const auto take_operator = [this, &kOperators]() -> std::optional<CompareOp> {
    if (skip_name("in")) return CompareOp::kIn;
    if (at_name("not") && look_ahead().type == TokenType::kName && look_ahead().text == "in") {
      advance();
      advance();
      return CompareOp::kNotIn;
    }
    for (const auto& row : kOperators) {
      if (skip_operator(row.first)) return row.second;
    }
    return std::nullopt;
  };

  const int at_line = line();
  TVLLM_TRY(ExprPtr first, parse_sum());
  std::optional<CompareOp> op = take_operator();
  if (!op) return first;
  auto compare = std::make_unique<Compare>(at_line);
  compare->first = std::move(first);
  for (; op; op = take_operator()) {
    TVLLM_TRY(ExprPtr operand, parse_sum());
    compare->rest.emplace_back(*op, std::move(operand));
  }
  return finish(std::move(compare));
}

Result<ExprPtr> Parser::parse_binary(OperatorTable table, Result<ExprPtr> (Parser::*next)()) {
  const auto take_operator = [this, table]() -> std::optional<BinaryOp> {
    for (const auto& row : table) {
      if (skip_operator(row.first)) return row.second;
    }
    return std::nullopt;
  };
  const int at_line = line();
  TVLLM_TRY(ExprPtr first, (this->*next)());
  std::optional<BinaryOp> op = take_operator();
  if (!op) return first;
  auto binary = std::make_unique<Binary>(at_line);
  binary->first = std::move(first);
  for (; op; op = take_operator()) {
    TVLLM_TRY(ExprPtr operand, (this->*next)());
    binary->rest.emplace_back(*op, std::move(operand));
  }
  return finish(std::move(binary));
}

Result<ExprPtr> Parser::parse_sum() {
  return parse_binary({{"+", BinaryOp::kAdd}, {"-", BinaryOp::kSubtract}}, &Parser::parse_concat);
}

Result<ExprPtr> Parser::parse_concat() {
  return parse_binary({{"~", BinaryOp::kConcat}}, &Parser::parse_product);
}

Result<ExprPtr> Parser::parse_product() {
  return parse_binary({{"*", BinaryOp::kMultiply},
                       {"/", BinaryOp::kDivide},
                       {"//", BinaryOp::kFloorDivide},
                       {"%", BinaryOp::kModulo}},
                      &Parser::parse_power);
}

Result<ExprPtr> Parser::parse_power() {
  const int at_line = line();
  TVLLM_TRY(ExprPtr first, parse_unary(true));
  if (!at_operator("**")) return first;
  auto power = std::make_unique<Binary>(at_line);
  power->first = std::move(first);
  while (skip_operator("**")) {
    TVLLM_TRY(ExprPtr operand, parse_unary(true));
    power->rest.emplace_back(BinaryOp::kPower, std::move(operand));
  }
  return finish(std::move(power));
}

Result<ExprPtr> Parser::parse_unary(bool with_filters) {
  const Nested nested(depth_);
  TVLLM_RETURN_IF_ERROR(check_nesting());
  ExprPtr expr;
  if (at_operator("-") || at_operator("+")) {
    auto unary = std::make_unique<Unary>(line());
    unary->op = at_operator("-") ? UnaryOp::kNegate : UnaryOp::kPlus;
    advance();
    TVLLM_TRY(unary->operand, parse_unary(false));
    TVLLM_TRY(expr, finish(std::move(unary)));
  } else {
    TVLLM_TRY(expr, parse_primary());
  }
  TVLLM_TRY(expr, parse_postfix(std::move(expr)));
  if (!with_filters) return expr;
  return parse_filters_and_tests(std::move(expr));
}

}  // namespace tvllm::chat_template
