// SPDX-License-Identifier: Apache-2.0
// The expressions of a parsed template, immutable after parsing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat_template/value.h"

namespace tvllm::chat_template {

struct Builtin;
struct PredicateEntry;

// A variable's name, by its place in Template::names.
using NameId = std::uint32_t;

enum class ExprKind {
  kLiteral,
  kName,
  kList,
  kDict,
  kUnary,
  kBinary,
  kLogic,
  kCompare,
  kCondition,
  kAttribute,
  kSubscript,
  kSlice,
  kCall,
  kFilter,
  kTest,
};

struct Expr {
  Expr(ExprKind expr_kind, int source_line) : kind(expr_kind), line(source_line) {}
  virtual ~Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;

  ExprKind kind;
  int line;
  int height = 1;  // of the tree under it: bounds the evaluator's recursion
};
using ExprPtr = std::unique_ptr<Expr>;

struct Literal : Expr {
  Literal(int at, Value v) : Expr(ExprKind::kLiteral, at), value(std::move(v)) {}
  Value value;
};

struct Name : Expr {
  Name(int at, NameId n) : Expr(ExprKind::kName, at), id(n) {}
  NameId id;
};

struct ListDisplay : Expr {  // [a, b] and (a, b)
  explicit ListDisplay(int at) : Expr(ExprKind::kList, at) {}
  bool is_tuple = false;
  std::vector<ExprPtr> items;
};

struct DictDisplay : Expr {
  explicit DictDisplay(int at) : Expr(ExprKind::kDict, at) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> members;
};

enum class UnaryOp { kNegate, kPlus, kNot };
struct Unary : Expr {
  explicit Unary(int at) : Expr(ExprKind::kUnary, at) {}
  UnaryOp op = UnaryOp::kNot;
  ExprPtr operand;
};

// first op operand op operand ..., of one precedence, from left to right.
enum class BinaryOp { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower, kConcat };
struct Binary : Expr {
  explicit Binary(int at) : Expr(ExprKind::kBinary, at) {}
  ExprPtr first;
  std::vector<std::pair<BinaryOp, ExprPtr>> rest;
};

struct Logic : Expr {  // and, or
  explicit Logic(int at) : Expr(ExprKind::kLogic, at) {}
  bool is_and = true;
  std::vector<ExprPtr> operands;
};

enum class CompareOp { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };
struct Compare : Expr {
  explicit Compare(int at) : Expr(ExprKind::kCompare, at) {}
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};

struct Condition : Expr {  // value if test else otherwise
  explicit Condition(int at) : Expr(ExprKind::kCondition, at) {}
  ExprPtr test;
  ExprPtr value;
  ExprPtr otherwise;  // may be null
};

struct Attribute : Expr {  // object.name
  explicit Attribute(int at) : Expr(ExprKind::kAttribute, at) {}
  ExprPtr object;
  std::string name;
};

struct Subscript : Expr {  // object[index]
  explicit Subscript(int at) : Expr(ExprKind::kSubscript, at) {}
  ExprPtr object;
  ExprPtr index;
};

struct Slice : Expr {  // object[start:stop:step], each of which may be null
  explicit Slice(int at) : Expr(ExprKind::kSlice, at) {}
  ExprPtr object;
  ExprPtr start;
  ExprPtr stop;
  ExprPtr step;
};

struct ArgumentExprs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr more_positional;  // *args, or null
  ExprPtr more_named;       // **kwargs, or null
};

struct Call : Expr {
  explicit Call(int at) : Expr(ExprKind::kCall, at) {}
  ExprPtr callee;
  ArgumentExprs arguments;
};

struct Filter : Expr {  // subject|name(arguments)
  explicit Filter(int at) : Expr(ExprKind::kFilter, at) {}
  ExprPtr subject;  // null in {% filter %} and {% set x | f %}: the block's text
  const Builtin* entry = nullptr;
  ArgumentExprs arguments;
};

struct Test : Expr {  // subject is name(arguments)
  explicit Test(int at) : Expr(ExprKind::kTest, at) {}
  ExprPtr subject;
  const PredicateEntry* entry = nullptr;
  ArgumentExprs arguments;
};

// Direct children, in order.
void for_each_child(const Expr& expr, const std::function<void(const Expr&)>& visit);

}  // namespace tvllm::chat_template
