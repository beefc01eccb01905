// SPDX-License-Identifier: Apache-2.0
#include "chat_template/statement.h"

namespace tvllm::chat_template {

namespace {

template <typename T>
const T& as(const Statement& statement) {
  return static_cast<const T&>(statement);
}

void visit_if(const ExprPtr& expr, const std::function<void(const Expr&)>& visit) {
  if (expr != nullptr) visit(*expr);
}

void walk_definition(const MacroDefinition& macro, const BodyVisitor& visitor) {
  for (const ExprPtr& value : macro.signature.defaults)
    visitor.expr(*value);
  walk(macro.body, visitor);
}

void walk_inside(const Statement& statement, const BodyVisitor& visitor) {
  switch (statement.kind) {
    case StatementKind::kText:
    case StatementKind::kBreak:
    case StatementKind::kContinue:
      break;
    case StatementKind::kPrint:
      visitor.expr(*as<Print>(statement).value);
      break;
    case StatementKind::kIf:
      for (const auto& branch : as<If>(statement).branches) {
        visitor.expr(*branch.first);
        walk(branch.second, visitor);
      }
      walk(as<If>(statement).otherwise, visitor);
      break;
    case StatementKind::kFor:
      visitor.expr(*as<For>(statement).iterable);
      visit_if(as<For>(statement).condition, visitor.expr);
      walk(as<For>(statement).body, visitor);
      walk(as<For>(statement).otherwise, visitor);
      break;
    case StatementKind::kSet:
      visitor.expr(*as<Set>(statement).value);
      break;
    case StatementKind::kSetBlock:
      visit_if(as<SetBlock>(statement).filter, visitor.expr);
      walk(as<SetBlock>(statement).body, visitor);
      break;
    case StatementKind::kMacro:
      walk_definition(as<MacroDefinition>(statement), visitor);
      break;
    case StatementKind::kCallBlock:
      visitor.expr(*as<CallBlock>(statement).call);
      walk_definition(*as<CallBlock>(statement).caller, visitor);
      break;
    case StatementKind::kFilterBlock:
      visitor.expr(*as<FilterBlock>(statement).filter);
      walk(as<FilterBlock>(statement).body, visitor);
      break;
    case StatementKind::kWith:
      for (const auto& assignment : as<With>(statement).assignments) {
        visitor.expr(*assignment.second);
      }
      walk(as<With>(statement).body, visitor);
      break;
    case StatementKind::kGeneration:
      walk(as<Generation>(statement).body, visitor);
      break;
  }
}

}  // namespace

void walk(const Body& body, const BodyVisitor& visitor) {
  for (const StatementPtr& statement : body) {
    visitor.statement(*statement);
    walk_inside(*statement, visitor);
  }
}

}  // namespace tvllm::chat_template
