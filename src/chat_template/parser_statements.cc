// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "chat_template/parser.h"

namespace tvllm::chat_template {

namespace {

// Jinja's, with its standard extensions, but not ours.
constexpr std::array<std::string_view, 9> kUnsupportedStatements = {
    "autoescape", "block", "debug", "do", "extends", "from", "import", "include", "trans"};

bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 6> kReserved = {"true", "false", "none",
                                                         "True", "False", "None"};
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

bool assigns_to(const Target& target, NameId name) {
  if (target.kind == Target::Kind::kName) return target.name == name;
  return std::any_of(target.items.begin(), target.items.end(),
                     [name](const Target& item) { return assigns_to(item, name); });
}

std::string describe(const Token& token) {
  return token.type == TokenType::kEnd ? token.text : quoted(token.text, 40);
}

}  // namespace

Result<Template> parse_template(std::string_view source, const ParseLimits& limits) {
  if (source.size() > limits.max_source_bytes) {
    return make_error(ErrorCode::kTooLarge,
                      str_cat("chat template: the source has ", source.size(),
                              " bytes, the limit is ", limits.max_source_bytes));
  }
  TVLLM_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens), limits).parse();
}

Result<Template> Parser::parse() {
  TVLLM_RETURN_IF_ERROR(parse_into(result_.body));
  return std::move(result_);
}

// Everything up to the end of the template.
Status Parser::parse_into(Body& body) {
  TVLLM_TRY(body, parse_body({}));
  return {};
}

// Statements up to a tag that begins with one of `end_names`, which is then the current token; with
// no such names, up to the end of the template.
Result<Body> Parser::parse_body(std::initializer_list<std::string_view> end_names) {
  const Nested nested(depth_);
  TVLLM_RETURN_IF_ERROR(check_nesting());
  Body body;
  while (!at(TokenType::kEnd)) {
    if (at(TokenType::kData)) {
      body.push_back(std::make_unique<TextStatement>(line(), token().text));
      advance();
    } else if (at(TokenType::kPrintBegin)) {
      auto print = std::make_unique<Print>(line());
      advance();
      TVLLM_TRY(print->value, parse_tuple(true, false));
      TVLLM_RETURN_IF_ERROR(expect(TokenType::kPrintEnd, "'}}'"));
      body.push_back(std::move(print));
    } else {
      advance();
      const auto ends = [this](std::string_view name) { return at_name(name); };
      if (std::any_of(end_names.begin(), end_names.end(), ends)) return body;
      TVLLM_TRY(StatementPtr statement, parse_statement());
      TVLLM_RETURN_IF_ERROR(expect(TokenType::kBlockEnd, "'%}'"));
      body.push_back(std::move(statement));
    }
  }
  if (end_names.size() > 0) return unexpected(str_cat("'", *(end_names.end() - 1), "'"));
  return body;
}

// '%}', a body, and the name that ends it.
Result<Body> Parser::parse_block(std::string_view end_name) {
  TVLLM_RETURN_IF_ERROR(expect(TokenType::kBlockEnd, "'%}'"));
  TVLLM_TRY(Body body, parse_body({end_name}));
  advance();
  return body;
}

Result<StatementPtr> Parser::parse_statement() {
  if (!at(TokenType::kName)) return unexpected("the name of a statement");
  const std::string& name = token().text;
  if (name == "if") return parse_if();
  if (name == "for") return parse_for();
  if (name == "set") return parse_set();
  if (name == "macro") return parse_macro();
  if (name == "call") return parse_call_block();
  if (name == "filter") return parse_filter_block();
  if (name == "with") return parse_with();
  if (name == "generation") return parse_generation();
  if (name == "break") return parse_loop_control(StatementKind::kBreak);
  if (name == "continue") return parse_loop_control(StatementKind::kContinue);
  if (std::find(kUnsupportedStatements.begin(), kUnsupportedStatements.end(), name) !=
      kUnsupportedStatements.end()) {
    return error_at(ErrorCode::kUnsupported, line(),
                    str_cat("the statement '", name, "' is not supported"));
  }
  return syntax_error(str_cat("unknown statement ", quoted(name, 40)));
}

Result<StatementPtr> Parser::parse_if() {
  auto statement = std::make_unique<If>(line());
  while (skip_name("if") || skip_name("elif")) {
    TVLLM_TRY(ExprPtr condition, parse_tuple(false, false));
    TVLLM_RETURN_IF_ERROR(expect(TokenType::kBlockEnd, "'%}'"));
    TVLLM_TRY(Body body, parse_body({"elif", "else", "endif"}));
    statement->branches.emplace_back(std::move(condition), std::move(body));
  }
  if (skip_name("else")) {
    TVLLM_TRY(statement->otherwise, parse_block("endif"));
  } else {
    advance();
  }
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_for() {
  auto statement = std::make_unique<For>(line());
  advance();
  TVLLM_TRY(statement->target, parse_target(false));
  if (assigns_to(statement->target, intern("loop"))) {
    return syntax_error("cannot assign to 'loop' in a for");
  }
  if (!skip_name("in")) return unexpected("'in'");
  TVLLM_TRY(statement->iterable, parse_tuple(false, false));
  if (skip_name("if")) {
    TVLLM_TRY(statement->condition, parse_expression());
  }
  statement->is_recursive = skip_name("recursive");
  TVLLM_RETURN_IF_ERROR(expect(TokenType::kBlockEnd, "'%}'"));
  {
    const Nested in_loop(loop_depth_);
    TVLLM_TRY(statement->body, parse_body({"else", "endfor"}));
  }
  if (skip_name("else")) {
    TVLLM_TRY(statement->otherwise, parse_block("endfor"));
  } else {
    advance();
  }
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_set() {
  const int at_line = line();
  advance();
  TVLLM_TRY(Target target, parse_target(true));
  if (skip_operator("=")) {
    auto statement = std::make_unique<Set>(at_line);
    statement->target = std::move(target);
    TVLLM_TRY(statement->value, parse_tuple(true, false));
    return StatementPtr(std::move(statement));
  }
  auto statement = std::make_unique<SetBlock>(at_line);
  statement->target = std::move(target);
  if (skip_operator("|")) {
    TVLLM_TRY(statement->filter, parse_filter_chain());
  }
  TVLLM_TRY(statement->body, parse_block("endset"));
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_macro() {
  auto macro = std::make_unique<MacroDefinition>(line());
  advance();
  TVLLM_TRY(macro->name, parse_plain_name("the name of the macro"));
  macro->display_name = result_.names[macro->name];
  TVLLM_TRY(macro->signature, parse_signature());
  TVLLM_RETURN_IF_ERROR(parse_macro_body(*macro, "endmacro"));
  return StatementPtr(std::move(macro));
}

Status Parser::parse_macro_body(MacroDefinition& macro, std::string_view end_name) {
  const int outer_loops = std::exchange(loop_depth_, 0);
  open_macros_.push_back(&macro);
  TVLLM_TRY(macro.body, parse_block(end_name));
  open_macros_.pop_back();
  loop_depth_ = outer_loops;
  // A parameter of that name is an ordinary one.
  for (const NameId id : macro.signature.names) {
    if (result_.names[id] == "caller") macro.uses_caller = false;
    if (result_.names[id] == "varargs") macro.uses_varargs = false;
    if (result_.names[id] == "kwargs") macro.uses_kwargs = false;
  }
  return {};
}

Result<Signature> Parser::parse_signature() {
  Signature signature;
  TVLLM_RETURN_IF_ERROR(expect_operator("("));
  while (!at_operator(")")) {
    TVLLM_TRY(const NameId name, parse_plain_name("the name of a parameter"));
    if (std::find(signature.names.begin(), signature.names.end(), name) != signature.names.end()) {
      return syntax_error(str_cat("the parameter '", result_.names[name], "' is given twice"));
    }
    signature.names.push_back(name);
    if (skip_operator("=")) {
      TVLLM_TRY(ExprPtr value, parse_expression());
      signature.defaults.push_back(std::move(value));
    } else if (!signature.defaults.empty()) {
      return syntax_error("a parameter without a default follows one with a default");
    }
    if (!at_operator(")")) TVLLM_RETURN_IF_ERROR(expect_operator(","));
  }
  advance();
  return signature;
}

Result<StatementPtr> Parser::parse_call_block() {
  auto statement = std::make_unique<CallBlock>(line());
  statement->caller = std::make_unique<MacroDefinition>(line());
  advance();
  statement->caller->name = intern("caller");
  statement->caller->display_name = "caller";
  if (at_operator("(")) {
    TVLLM_TRY(statement->caller->signature, parse_signature());
  }
  TVLLM_TRY(statement->call, parse_expression());
  if (statement->call->kind != ExprKind::kCall) {
    return error_at(ErrorCode::kInvalidArgument, statement->line, "expected a call after 'call'");
  }
  TVLLM_RETURN_IF_ERROR(parse_macro_body(*statement->caller, "endcall"));
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_filter_block() {
  auto statement = std::make_unique<FilterBlock>(line());
  advance();
  TVLLM_TRY(statement->filter, parse_filter_chain());
  TVLLM_TRY(statement->body, parse_block("endfilter"));
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_with() {
  auto statement = std::make_unique<With>(line());
  advance();
  while (!at(TokenType::kBlockEnd)) {
    if (!statement->assignments.empty()) TVLLM_RETURN_IF_ERROR(expect_operator(","));
    TVLLM_TRY(Target target, parse_target_item(false));
    TVLLM_RETURN_IF_ERROR(expect_operator("="));
    TVLLM_TRY(ExprPtr value, parse_expression());
    statement->assignments.emplace_back(std::move(target), std::move(value));
  }
  TVLLM_TRY(statement->body, parse_block("endwith"));
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_generation() {
  auto statement = std::make_unique<Generation>(line());
  advance();
  const int outer_loops = std::exchange(loop_depth_, 0);
  TVLLM_TRY(statement->body, parse_block("endgeneration"));
  loop_depth_ = outer_loops;
  return StatementPtr(std::move(statement));
}

Result<StatementPtr> Parser::parse_loop_control(StatementKind kind) {
  auto statement = std::make_unique<LoopControl>(kind, line());
  if (loop_depth_ == 0) return syntax_error(str_cat("'", token().text, "' outside of a loop"));
  advance();
  return StatementPtr(std::move(statement));
}

// One target, or several with commas.
Result<Target> Parser::parse_target(bool with_namespace) {
  TVLLM_TRY(Target first, parse_target_item(with_namespace));
  if (!at_operator(",")) return first;
  Target tuple;
  tuple.kind = Target::Kind::kTuple;
  tuple.line = first.line;
  tuple.items.push_back(std::move(first));
  while (skip_operator(",")) {
    if (at_operator(")") || at(TokenType::kBlockEnd)) break;
    TVLLM_TRY(Target item, parse_target_item(with_namespace));
    tuple.items.push_back(std::move(item));
  }
  return tuple;
}

Result<Target> Parser::parse_target_item(bool with_namespace) {
  const Nested nested(depth_);
  TVLLM_RETURN_IF_ERROR(check_nesting());
  if (skip_operator("(")) {
    TVLLM_TRY(Target inside, parse_target(with_namespace));
    TVLLM_RETURN_IF_ERROR(expect_operator(")"));
    return inside;
  }
  Target target;
  target.line = line();
  if (!at(TokenType::kName)) return unexpected("a name to assign to");
  const std::string name = token().text;
  if (with_namespace && look_ahead().type == TokenType::kOperator && look_ahead().text == ".") {
    advance();
    advance();
    if (!at(TokenType::kName)) return unexpected("the name of an attribute");
    target.kind = Target::Kind::kNamespaceAttribute;
    target.name = intern(name);
    target.attribute = token().text;
    advance();
    return target;
  }
  TVLLM_TRY(target.name, parse_plain_name("a name to assign to"));
  return target;
}

Result<NameId> Parser::parse_plain_name(std::string_view what) {
  if (!at(TokenType::kName)) return unexpected(what);
  if (is_reserved(token().text)) {
    return syntax_error(str_cat("cannot assign to '", token().text, "'"));
  }
  const NameId id = intern(token().text);
  advance();
  return id;
}

bool Parser::skip_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  advance();
  return true;
}

bool Parser::skip_name(std::string_view text) {
  if (!at_name(text)) return false;
  advance();
  return true;
}

Status Parser::expect_operator(std::string_view text) {
  if (skip_operator(text)) return {};
  return unexpected(str_cat("'", text, "'"));
}

Status Parser::expect(TokenType type, std::string_view what) {
  if (!at(type)) return unexpected(what);
  advance();
  return {};
}

NameId Parser::intern(std::string_view name) {
  const auto [entry, is_new] =
      ids_.try_emplace(std::string(name), static_cast<NameId>(result_.names.size()));
  if (is_new) result_.names.emplace_back(name);
  return entry->second;
}

Error Parser::unexpected(std::string_view expected) const {
  return syntax_error(str_cat("expected ", expected, ", found ", describe(token())));
}

Status Parser::check_nesting() const {
  if (depth_ <= limits_.max_nesting) return {};
  return error_at(ErrorCode::kTooLarge, line(),
                  str_cat("nested more than ", limits_.max_nesting, " levels deep"));
}

}  // namespace tvllm::chat_template
