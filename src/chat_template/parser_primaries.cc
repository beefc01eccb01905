// SPDX-License-Identifier: Apache-2.0
// Literals and names, and what may follow them: .name [index] (arguments) |filter is test.
#include <optional>

#include "base/strings.h"
#include "chat_template/filters.h"
#include "chat_template/literals.h"
#include "chat_template/methods.h"
#include "chat_template/parser.h"
#include "chat_template/predicates.h"

namespace tvllm::chat_template {

Result<ExprPtr> Parser::parse_primary() {
  switch (token().type) {
    case TokenType::kName:
      return parse_name();
    case TokenType::kString:
      return parse_string();
    case TokenType::kInteger:
    case TokenType::kFloat:
      return parse_number();
    default:
      break;
  }
  if (at_operator("[")) return parse_list();
  if (at_operator("{")) return parse_dict();
  if (!skip_operator("(")) return unexpected("an expression");
  TVLLM_TRY(ExprPtr inside, parse_tuple(true, true));
  TVLLM_RETURN_IF_ERROR(expect_operator(")"));
  return inside;
}

Result<ExprPtr> Parser::parse_name() {
  const int at_line = line();
  const std::string name = token().text;
  advance();
  if (name == "true" || name == "True")
    return finish(std::make_unique<Literal>(at_line, Value::boolean(true)));
  if (name == "false" || name == "False") {
    return finish(std::make_unique<Literal>(at_line, Value::boolean(false)));
  }
  if (name == "none" || name == "None")
    return finish(std::make_unique<Literal>(at_line, Value::none()));
  for (MacroDefinition* macro : open_macros_) {
    macro->uses_caller |= name == "caller";
    macro->uses_varargs |= name == "varargs";
    macro->uses_kwargs |= name == "kwargs";
  }
  return finish(std::make_unique<Name>(at_line, intern(name)));
}

// 'a' "b" side by side are one literal.
Result<ExprPtr> Parser::parse_string() {
  const int at_line = line();
  std::string text;
  for (; at(TokenType::kString); advance())
    text += token().text;
  return finish(std::make_unique<Literal>(at_line, Value::string(std::move(text))));
}

Result<ExprPtr> Parser::parse_number() {
  const Token number = token();
  advance();
  if (number.type == TokenType::kFloat) {
    const std::optional<double> value = parse_double(number.text);
    if (!value) {
      return error_at(ErrorCode::kInvalidArgument, number.line,
                      str_cat("the number ", quoted(number.text), " is out of range"));
    }
    return finish(std::make_unique<Literal>(number.line, Value::real(*value)));
  }
  TVLLM_TRY(const std::int64_t value, parse_integer_literal(number.text, number.line));
  return finish(std::make_unique<Literal>(number.line, Value::integer(value)));
}

Result<ExprPtr> Parser::parse_list() {
  auto list = std::make_unique<ListDisplay>(line());
  advance();
  while (!at_operator("]")) {
    TVLLM_TRY(ExprPtr item, parse_expression());
    list->items.push_back(std::move(item));
    if (!skip_operator(",")) break;
  }
  TVLLM_RETURN_IF_ERROR(expect_operator("]"));
  return finish(std::move(list));
}

Result<ExprPtr> Parser::parse_dict() {
  auto dict = std::make_unique<DictDisplay>(line());
  advance();
  while (!at_operator("}")) {
    TVLLM_TRY(ExprPtr key, parse_expression());
    TVLLM_RETURN_IF_ERROR(expect_operator(":"));
    TVLLM_TRY(ExprPtr value, parse_expression());
    dict->members.emplace_back(std::move(key), std::move(value));
    if (!skip_operator(",")) break;
  }
  TVLLM_RETURN_IF_ERROR(expect_operator("}"));
  return finish(std::move(dict));
}

Result<ExprPtr> Parser::parse_postfix(ExprPtr subject) {
  while (true) {
    if (at_operator(".")) {
      TVLLM_TRY(subject, parse_attribute(std::move(subject)));
    } else if (at_operator("[")) {
      TVLLM_TRY(subject, parse_subscript(std::move(subject)));
    } else if (at_operator("(")) {
      TVLLM_TRY(subject, parse_call(std::move(subject)));
    } else {
      return subject;
    }
  }
}

Result<ExprPtr> Parser::parse_filters_and_tests(ExprPtr subject) {
  while (true) {
    if (at_operator("|")) {
      advance();
      TVLLM_TRY(subject, parse_filter(std::move(subject)));
    } else if (at_name("is")) {
      TVLLM_TRY(subject, parse_test(std::move(subject)));
    } else if (at_operator("(")) {
      TVLLM_TRY(subject, parse_call(std::move(subject)));
    } else {
      return subject;
    }
  }
}

Result<ExprPtr> Parser::parse_attribute(ExprPtr subject) {
  const int at_line = line();
  advance();
  if (at(TokenType::kName)) {
    auto attribute = std::make_unique<Attribute>(at_line);
    attribute->object = std::move(subject);
    attribute->name = token().text;
    advance();
    return finish(std::move(attribute));
  }
  if (!at(TokenType::kInteger)) return unexpected("a name or a number after '.'");
  auto subscript = std::make_unique<Subscript>(at_line);
  subscript->object = std::move(subject);
  TVLLM_TRY(subscript->index, parse_number());
  return finish(std::move(subscript));
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr subject) {
  const int at_line = line();
  advance();
  ExprPtr first;
  if (!at_operator(":")) {
    TVLLM_TRY(first, parse_expression());
    if (!at_operator(":")) {
      auto subscript = std::make_unique<Subscript>(at_line);
      subscript->object = std::move(subject);
      subscript->index = std::move(first);
      if (at_operator(",")) {
        return error_at(ErrorCode::kUnsupported, at_line,
                        "more than one subscript is not supported");
      }
      TVLLM_RETURN_IF_ERROR(expect_operator("]"));
      return finish(std::move(subscript));
    }
  }
  auto slice = std::make_unique<Slice>(at_line);
  slice->object = std::move(subject);
  slice->start = std::move(first);
  TVLLM_RETURN_IF_ERROR(expect_operator(":"));
  if (!at_operator(":") && !at_operator("]")) {
    TVLLM_TRY(slice->stop, parse_expression());
  }
  if (skip_operator(":") && !at_operator("]")) {
    TVLLM_TRY(slice->step, parse_expression());
  }
  TVLLM_RETURN_IF_ERROR(expect_operator("]"));
  return finish(std::move(slice));
}

Result<ExprPtr> Parser::parse_call(ExprPtr callee) {
  auto call = std::make_unique<Call>(line());
  if (callee->kind == ExprKind::kAttribute) {
    const std::string& name = static_cast<const Attribute&>(*callee).name;
    if (is_unsupported_method(name)) {
      return error_at(ErrorCode::kUnsupported, line(),
                      str_cat("the method '", name, "()' is not supported"));
    }
  }
  if (callee->kind == ExprKind::kName &&
      result_.names[static_cast<const Name&>(*callee).id] == "lipsum") {
    return error_at(ErrorCode::kUnsupported, line(), "the function 'lipsum()' is not supported");
  }
  call->callee = std::move(callee);
  TVLLM_TRY(call->arguments, parse_arguments());
  return finish(std::move(call));
}

Result<ExprPtr> Parser::parse_filter(ExprPtr subject) {
  auto filter = std::make_unique<Filter>(line());
  if (!at(TokenType::kName)) return unexpected("the name of a filter");
  filter->entry = find_filter(token().text);
  if (filter->entry == nullptr) return unknown_filter(token().text, line());
  advance();
  filter->subject = std::move(subject);
  if (at_operator("(")) {
    TVLLM_TRY(filter->arguments, parse_arguments());
  }
  return finish(std::move(filter));
}

// f(args)|g of a block, whose text takes the place of the subject.
Result<ExprPtr> Parser::parse_filter_chain() {
  TVLLM_TRY(ExprPtr chain, parse_filter(nullptr));
  while (skip_operator("|")) {
    TVLLM_TRY(chain, parse_filter(std::move(chain)));
  }
  return chain;
}

Result<ExprPtr> Parser::parse_test(ExprPtr subject) {
  auto test = std::make_unique<Test>(line());
  advance();
  const bool is_negated = skip_name("not");
  if (!at(TokenType::kName)) return unexpected("the name of a test after 'is'");
  test->entry = find_predicate(token().text);
  if (test->entry == nullptr) return unknown_predicate(token().text, line());
  advance();
  test->subject = std::move(subject);

  const bool begins_operand = at(TokenType::kName) || at(TokenType::kString) ||
                              at(TokenType::kInteger) || at(TokenType::kFloat) ||
                              at_operator("[") || at_operator("{");
  if (at_operator("(")) {
    TVLLM_TRY(test->arguments, parse_arguments());
  } else if (begins_operand && !at_name("else") && !at_name("or") && !at_name("and")) {
    if (at_name("is")) return syntax_error("tests cannot be chained with 'is'");
    TVLLM_TRY(ExprPtr operand, parse_primary());
    TVLLM_TRY(operand, parse_postfix(std::move(operand)));
    test->arguments.positional.push_back(std::move(operand));
  }
  const int at_line = test->line;
  TVLLM_TRY(ExprPtr whole, finish(std::move(test)));
  if (!is_negated) return whole;
  auto negation = std::make_unique<Unary>(at_line);
  negation->operand = std::move(whole);
  return finish(std::move(negation));
}

Result<ArgumentExprs> Parser::parse_arguments() {
  ArgumentExprs arguments;
  TVLLM_RETURN_IF_ERROR(expect_operator("("));
  while (!at_operator(")")) {
    TVLLM_RETURN_IF_ERROR(parse_argument(arguments));
    if (!skip_operator(",")) break;
  }
  TVLLM_RETURN_IF_ERROR(expect_operator(")"));
  return arguments;
}

Status Parser::parse_argument(ArgumentExprs& arguments) {
  const bool after_stars = arguments.more_named != nullptr || arguments.more_positional != nullptr;
  if (at_operator("*") && !after_stars) {
    advance();
    TVLLM_TRY(arguments.more_positional, parse_expression());
    return {};
  }
  if (at_operator("**") && arguments.more_named == nullptr) {
    advance();
    TVLLM_TRY(arguments.more_named, parse_expression());
    return {};
  }
  const bool is_named =
      at(TokenType::kName) && look_ahead().type == TokenType::kOperator && look_ahead().text == "=";
  if (is_named && arguments.more_named == nullptr) {
    const std::string name = token().text;
    for (const auto& argument : arguments.named) {
      if (argument.first == name) {
        return syntax_error(str_cat("the argument '", name, "' is given twice"));
      }
    }
    advance();
    advance();
    TVLLM_TRY(ExprPtr value, parse_expression());
    arguments.named.emplace_back(name, std::move(value));
    return {};
  }
  if (is_named || after_stars || !arguments.named.empty()) {
    return syntax_error("an argument stands behind those that must be last");
  }
  TVLLM_TRY(ExprPtr value, parse_expression());
  arguments.positional.push_back(std::move(value));
  return {};
}

}  // namespace tvllm::chat_template
