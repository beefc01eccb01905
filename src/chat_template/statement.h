// SPDX-License-Identifier: Apache-2.0
// The statements of a parsed template, immutable after parsing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat_template/expression.h"

namespace tvllm::chat_template {

// What a for, a set or a with assigns to: x, ns.x, or (a, b).
struct Target {
  enum class Kind { kName, kNamespaceAttribute, kTuple };
  Kind kind = Kind::kName;
  int line = 1;
  NameId name = 0;
  std::string attribute;
  std::vector<Target> items;
};

enum class StatementKind {
  kText,
  kPrint,
  kIf,
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kGeneration,
  kBreak,
  kContinue,
};

struct Statement {
  Statement(StatementKind statement_kind, int source_line)
      : kind(statement_kind), line(source_line) {}
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  StatementKind kind;
  int line;
};
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

struct TextStatement : Statement {
  TextStatement(int at, std::string t) : Statement(StatementKind::kText, at), text(std::move(t)) {}
  std::string text;
};

struct Print : Statement {
  explicit Print(int at) : Statement(StatementKind::kPrint, at) {}
  ExprPtr value;
};

struct If : Statement {
  explicit If(int at) : Statement(StatementKind::kIf, at) {}
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};

struct For : Statement {
  explicit For(int at) : Statement(StatementKind::kFor, at) {}
  Target target;
  ExprPtr iterable;
  ExprPtr condition;  // may be null
  bool is_recursive = false;
  Body body;
  Body otherwise;
};

struct Set : Statement {
  explicit Set(int at) : Statement(StatementKind::kSet, at) {}
  Target target;
  ExprPtr value;
};

struct SetBlock : Statement {
  explicit SetBlock(int at) : Statement(StatementKind::kSetBlock, at) {}
  Target target;
  ExprPtr filter;  // a chain of Filters, or null
  Body body;
};

struct Signature {
  std::vector<NameId> names;
  std::vector<ExprPtr> defaults;  // of the last ones
};

// What {% macro %} and {% call %} define.
struct MacroDefinition : Statement {
  explicit MacroDefinition(int at) : Statement(StatementKind::kMacro, at) {}
  NameId name = 0;
  std::string display_name;
  Signature signature;
  Body body;
  // Whether the body mentions these, and so accepts what they catch.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

struct CallBlock : Statement {
  explicit CallBlock(int at) : Statement(StatementKind::kCallBlock, at) {}
  ExprPtr call;  // a Call
  std::unique_ptr<MacroDefinition> caller;
};

struct FilterBlock : Statement {
  explicit FilterBlock(int at) : Statement(StatementKind::kFilterBlock, at) {}
  ExprPtr filter;
  Body body;
};

struct With : Statement {
  explicit With(int at) : Statement(StatementKind::kWith, at) {}
  std::vector<std::pair<Target, ExprPtr>> assignments;
  Body body;
};

struct Generation : Statement {  // marks the assistant's words for training: only a scope here
  explicit Generation(int at) : Statement(StatementKind::kGeneration, at) {}
  Body body;
};

struct LoopControl : Statement {  // break, continue
  using Statement::Statement;
};

struct Template {
  std::vector<std::string> names;  // by NameId
  Body body;
};

// What a walk over a body passes: each statement, before what is inside it, and with each the
// expressions that stand directly in it.
struct BodyVisitor {
  std::function<void(const Statement&)> statement;
  std::function<void(const Expr&)> expr;
};
void walk(const Body& body, const BodyVisitor& visitor);

}  // namespace tvllm::chat_template
