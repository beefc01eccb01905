// SPDX-License-Identifier: Apache-2.0
#include "chat_template/content_format.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat_template/objects.h"

namespace tvllm::chat_template {

namespace {

// What an expression may stand for.
using Roles = std::uint8_t;
constexpr Roles kMessages = 1;
constexpr Roles kMessage = 2;
constexpr Roles kContent = 4;
constexpr Roles kPart = 8;

template <typename T, typename Node>
const T& as(const Node& node) {
  return static_cast<const T&>(node);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The literal text of an index, or empty.
std::string_view literal_text(const Expr& expr) {
  if (expr.kind != ExprKind::kLiteral) return {};
  const Value& value = as<Literal>(expr).value;
  return value.is(Kind::kString) ? std::string_view(value.as_text().bytes()) : std::string_view();
}

// Follows messages, a message and its content through the template's assignments, until nothing
// new is learned.
class Detective {
 public:
  explicit Detective(const Template& source) : template_(source), roles_(source.names.size(), 0) {
    for (std::size_t i = 0; i < source.names.size(); ++i) {
      if (source.names[i] == "messages") roles_[i] = kMessages;
    }
    const BodyVisitor collect{[this](const Statement& statement) {
                                if (statement.kind == StatementKind::kMacro) {
                                  macros_[as<MacroDefinition>(statement).name] =
                                      &as<MacroDefinition>(statement).signature;
                                }
                              },
                              [](const Expr& /*expr*/) {}};
    walk(source.body, collect);
  }

  bool reads_parts() {
    const BodyVisitor visitor{[this](const Statement& statement) { learn(statement); },
                              [this](const Expr& expr) { learn(expr); }};
    do {
      has_learned_ = false;
      walk(template_.body, visitor);
    } while (has_learned_ && !found_parts_);
    return found_parts_;
  }

 private:
  void learn(const Statement& statement) {
    if (statement.kind == StatementKind::kSet) {
      give(as<Set>(statement).target, roles_of(*as<Set>(statement).value));
    } else if (statement.kind == StatementKind::kWith) {
      for (const auto& assignment : as<With>(statement).assignments) {
        give(assignment.first, roles_of(*assignment.second));
      }
    } else if (statement.kind == StatementKind::kFor) {
      const Roles roles = roles_of(*as<For>(statement).iterable);
      if ((roles & kContent) != 0) found_parts_ = true;
      if ((roles & kMessages) != 0) give(as<For>(statement).target, kMessage);
    }
  }

  void learn(const Expr& expr) {
    if (expr.kind == ExprKind::kCall) learn_call(as<Call>(expr));
    if (expr.kind == ExprKind::kFilter) learn_filter(as<Filter>(expr));
    const bool is_text = expr.kind == ExprKind::kAttribute || expr.kind == ExprKind::kSubscript;
    if (is_text && (roles_of(expr) & kPart) != 0) found_parts_ = true;
    for_each_child(expr, [this](const Expr& child) { learn(child); });
  }

  // Filters that only make sense of a list, used on a content.
  void learn_filter(const Filter& filter) {
    if (filter.subject == nullptr) return;
    const bool wants_list =
        is_one_of(filter.entry->name, {"map", "select", "reject", "selectattr", "rejectattr"});
    if (wants_list && (roles_of(*filter.subject) & kContent) != 0) found_parts_ = true;
  }

  // The arguments of a macro become its parameters.
  void learn_call(const Call& call) {
    if (call.callee->kind != ExprKind::kName) return;
    const auto macro = macros_.find(as<Name>(*call.callee).id);
    if (macro == macros_.end()) return;
    const std::vector<NameId>& names = macro->second->names;
    const auto& positional = call.arguments.positional;
    for (std::size_t i = 0; i < std::min(names.size(), positional.size()); ++i) {
      give(names[i], roles_of(*positional[i]));
    }
    for (const auto& named : call.arguments.named) {
      for (const NameId name : names) {
        if (template_.names[name] == named.first) give(name, roles_of(*named.second));
      }
    }
  }

  void give(NameId name, Roles roles) {
    has_learned_ |= (roles_[name] | roles) != roles_[name];
    roles_[name] |= roles;
  }

  void give(const Target& target, Roles roles) {
    if (target.kind == Target::Kind::kName) give(target.name, roles);
    if (target.kind != Target::Kind::kNamespaceAttribute) return;
    Roles& known = attributes_[target.attribute];
    has_learned_ |= (known | roles) != known;
    known |= roles;
  }

  Roles roles_of(const Expr& expr) const {
    switch (expr.kind) {
      case ExprKind::kName:
        return roles_[as<Name>(expr).id];
      case ExprKind::kAttribute:
        return roles_of_member(*as<Attribute>(expr).object, as<Attribute>(expr).name);
      case ExprKind::kSubscript:
        return roles_of_item(as<Subscript>(expr));
      case ExprKind::kSlice:
        return roles_of(*as<Slice>(expr).object);
      case ExprKind::kFilter:
        return roles_of_filtered(as<Filter>(expr));
      case ExprKind::kCondition: {
        const auto& condition = as<Condition>(expr);
        const Roles otherwise =
            condition.otherwise != nullptr ? roles_of(*condition.otherwise) : Roles{0};
        return roles_of(*condition.value) | otherwise;
      }
      case ExprKind::kLogic: {
        Roles roles = 0;
        for (const ExprPtr& operand : as<Logic>(expr).operands)
          roles |= roles_of(*operand);
        return roles;
      }
      case ExprKind::kCall:
        return roles_of_get(as<Call>(expr));
      default:
        return 0;
    }
  }

  Roles roles_of_member(const Expr& object, std::string_view name) const {
    const auto known = attributes_.find(std::string(name));
    const Roles kept =
        known != attributes_.end() && object.kind == ExprKind::kName ? known->second : Roles{0};
    const Roles roles = roles_of(object);
    if ((roles & kMessage) != 0 && name == "content") return kContent | kept;
    // content[0].text: of a part, and only a part has it.
    const bool is_in_content = object.kind == ExprKind::kSubscript &&
                               (roles_of(*as<Subscript>(object).object) & kContent) != 0;
    return is_in_content && is_one_of(name, {"text", "type"}) ? kPart | kept : kept;
  }

  Roles roles_of_item(const Subscript& expr) const {
    const std::string_view name = literal_text(*expr.index);
    if (!name.empty()) return roles_of_member(*expr.object, name);
    return (roles_of(*expr.object) & kMessages) != 0 ? kMessage : Roles{0};
  }

  Roles roles_of_filtered(const Filter& filter) const {
    if (filter.subject == nullptr) return 0;
    const Roles roles = roles_of(*filter.subject);
    const std::string_view name = filter.entry->name;
    if (is_one_of(name, {"first", "last"})) return (roles & kMessages) != 0 ? kMessage : Roles{0};
    const bool keeps = is_one_of(
        name, {"list", "reverse", "default", "d", "select", "reject", "selectattr", "rejectattr"});
    return keeps ? roles : Roles{0};
  }

  // message.get('content')
  Roles roles_of_get(const Call& call) const {
    if (call.callee->kind != ExprKind::kAttribute || call.arguments.positional.empty()) return 0;
    const auto& method = as<Attribute>(*call.callee);
    if (method.name != "get") return 0;
    return roles_of_member(*method.object, literal_text(*call.arguments.positional[0]));
  }

  const Template& template_;
  std::vector<Roles> roles_;                 // by NameId
  std::map<std::string, Roles> attributes_;  // of any namespace
  std::map<NameId, const Signature*> macros_;
  bool has_learned_ = false;
  bool found_parts_ = false;
};

}  // namespace

ContentFormat detect_content_format(const Template& source) {
  return Detective(source).reads_parts() ? ContentFormat::kParts : ContentFormat::kString;
}

}  // namespace tvllm::chat_template
