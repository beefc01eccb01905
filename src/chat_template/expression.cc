// SPDX-License-Identifier: Apache-2.0
#include "chat_template/expression.h"

namespace tvllm::chat_template {

namespace {

using Visit = std::function<void(const Expr&)>;

template <typename T>
const T& as(const Expr& expr) {
  return static_cast<const T&>(expr);
}

void visit_if(const ExprPtr& expr, const Visit& visit) {
  if (expr != nullptr) visit(*expr);
}

void visit_all(const std::vector<ExprPtr>& exprs, const Visit& visit) {
  for (const ExprPtr& expr : exprs)
    visit(*expr);
}

void visit_arguments(const ArgumentExprs& arguments, const Visit& visit) {
  visit_all(arguments.positional, visit);
  for (const auto& argument : arguments.named)
    visit(*argument.second);
  visit_if(arguments.more_positional, visit);
  visit_if(arguments.more_named, visit);
}

template <typename Chain>
void visit_chain(const Chain& chain, const Visit& visit) {
  visit(*chain.first);
  for (const auto& link : chain.rest)
    visit(*link.second);
}

}  // namespace

void for_each_child(const Expr& expr, const Visit& visit) {
  switch (expr.kind) {
    case ExprKind::kLiteral:
    case ExprKind::kName:
      break;
    case ExprKind::kList:
      visit_all(as<ListDisplay>(expr).items, visit);
      break;
    case ExprKind::kDict:
      for (const auto& member : as<DictDisplay>(expr).members) {
        visit(*member.first);
        visit(*member.second);
      }
      break;
    case ExprKind::kUnary:
      visit(*as<Unary>(expr).operand);
      break;
    case ExprKind::kBinary:
      visit_chain(as<Binary>(expr), visit);
      break;
    case ExprKind::kLogic:
      visit_all(as<Logic>(expr).operands, visit);
      break;
    case ExprKind::kCompare:
      visit_chain(as<Compare>(expr), visit);
      break;
    case ExprKind::kCondition:
      visit(*as<Condition>(expr).test);
      visit(*as<Condition>(expr).value);
      visit_if(as<Condition>(expr).otherwise, visit);
      break;
    case ExprKind::kAttribute:
      visit(*as<Attribute>(expr).object);
      break;
    case ExprKind::kSubscript:
      visit(*as<Subscript>(expr).object);
      visit(*as<Subscript>(expr).index);
      break;
    case ExprKind::kSlice:
      visit(*as<Slice>(expr).object);
      visit_if(as<Slice>(expr).start, visit);
      visit_if(as<Slice>(expr).stop, visit);
      visit_if(as<Slice>(expr).step, visit);
      break;
    case ExprKind::kCall:
      visit(*as<Call>(expr).callee);
      visit_arguments(as<Call>(expr).arguments, visit);
      break;
    case ExprKind::kFilter:
      visit_if(as<Filter>(expr).subject, visit);
      visit_arguments(as<Filter>(expr).arguments, visit);
      break;
    case ExprKind::kTest:
      visit(*as<Test>(expr).subject);
      visit_arguments(as<Test>(expr).arguments, visit);
      break;
  }
}

}  // namespace tvllm::chat_template
