// SPDX-License-Identifier: Apache-2.0
// Tokens to a Template, by recursive descent along Jinja's grammar.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat_template/lexer.h"
#include "chat_template/limits.h"
#include "chat_template/statement.h"

namespace tvllm::chat_template {

// What it cannot run, it refuses here, naming construct and line, so that a template that parses
// can only fail on its data.
Result<Template> parse_template(std::string_view source, const ParseLimits& limits);

// One use: a parser holds the state of one parse. parser_statements.cc,
// parser_expressions.cc and parser_primaries.cc each define their part.
class Parser {
 public:
  Parser(std::vector<Token> tokens, const ParseLimits& limits)
      : tokens_(std::move(tokens)), limits_(limits) {}

  Result<Template> parse();

 private:
  // Counts nesting while it lives.
  class Nested {
   public:
    explicit Nested(int& depth) : depth_(&depth) { ++*depth_; }
    ~Nested() { --*depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int* depth_;
  };

  // Statements.
  Result<Body> parse_body(std::initializer_list<std::string_view> end_names);
  Status parse_into(Body& body);
  Result<StatementPtr> parse_statement();
  Result<StatementPtr> parse_if();
  Result<StatementPtr> parse_for();
  Result<StatementPtr> parse_set();
  Result<StatementPtr> parse_macro();
  Result<StatementPtr> parse_call_block();
  Result<StatementPtr> parse_filter_block();
  Result<StatementPtr> parse_with();
  Result<StatementPtr> parse_generation();
  Result<StatementPtr> parse_loop_control(StatementKind kind);
  Status parse_macro_body(MacroDefinition& macro, std::string_view end_name);
  Result<Signature> parse_signature();
  Result<Body> parse_block(std::string_view end_name);
  Result<Target> parse_target(bool with_namespace);
  Result<Target> parse_target_item(bool with_namespace);
  Result<NameId> parse_plain_name(std::string_view what);

  // Expressions, loosest binding first.
  Result<ExprPtr> parse_tuple(bool with_condition, bool in_parentheses);
  Result<ExprPtr> parse_expression();
  Result<ExprPtr> parse_or();
  Result<ExprPtr> parse_and();
  Result<ExprPtr> parse_not();
  Result<ExprPtr> parse_compare();
  Result<ExprPtr> parse_sum();
  Result<ExprPtr> parse_concat();
  Result<ExprPtr> parse_product();
  Result<ExprPtr> parse_power();
  Result<ExprPtr> parse_unary(bool with_filters);
  Result<ExprPtr> parse_primary();
  Result<ExprPtr> parse_name();
  Result<ExprPtr> parse_string();
  Result<ExprPtr> parse_number();
  Result<ExprPtr> parse_list();
  Result<ExprPtr> parse_dict();
  Result<ExprPtr> parse_postfix(ExprPtr subject);
  Result<ExprPtr> parse_filters_and_tests(ExprPtr subject);
  Result<ExprPtr> parse_attribute(ExprPtr subject);
  Result<ExprPtr> parse_subscript(ExprPtr subject);
  Result<ExprPtr> parse_call(ExprPtr callee);
  Result<ExprPtr> parse_filter(ExprPtr subject);
  Result<ExprPtr> parse_filter_chain();
  Result<ExprPtr> parse_test(ExprPtr subject);
  Result<ArgumentExprs> parse_arguments();
  Status parse_argument(ArgumentExprs& arguments);

  // A chain `next (op next)*` of the operators in `table`, from left to right.
  using OperatorTable = std::initializer_list<std::pair<std::string_view, BinaryOp>>;
  Result<ExprPtr> parse_binary(OperatorTable table, Result<ExprPtr> (Parser::*next)());

  // Sets the height of a finished node, and refuses one that is too high.
  Result<ExprPtr> finish(ExprPtr expr) const;

  // Tokens.
  const Token& token() const { return tokens_[pos_]; }
  const Token& look_ahead() const { return tokens_[pos_ + 1 < tokens_.size() ? pos_ + 1 : pos_]; }
  int line() const { return token().line; }
  void advance() { pos_ += pos_ + 1 < tokens_.size() ? 1 : 0; }
  bool at(TokenType type) const { return token().type == type; }
  bool at_operator(std::string_view text) const {
    return at(TokenType::kOperator) && token().text == text;
  }
  bool at_name(std::string_view text) const { return at(TokenType::kName) && token().text == text; }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  Status expect_operator(std::string_view text);
  Status expect(TokenType type, std::string_view what);

  NameId intern(std::string_view name);
  Error unexpected(std::string_view expected) const;
  Error syntax_error(std::string_view message) const {
    return error_at(ErrorCode::kInvalidArgument, line(), message);
  }
  Status check_nesting() const;

  std::vector<Token> tokens_;
  std::size_t pos_ = 0;
  ParseLimits limits_;
  int depth_ = 0;
  int loop_depth_ = 0;                         // loops that a break here could leave
  std::vector<MacroDefinition*> open_macros_;  // whose bodies are being parsed
  std::unordered_map<std::string, NameId> ids_;
  Template result_;
};

}  // namespace tvllm::chat_template
