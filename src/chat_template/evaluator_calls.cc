// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/evaluator.h"
#include "chat_template/functions.h"
#include "chat_template/methods.h"

namespace tvllm::chat_template {

Value macro_name(const Macro& macro) {
  return Value::string(macro.definition->display_name);
}

// `caller` is what a call block adds.
Result<Value> Evaluator::eval_call(const Call& expr, const Value* caller) {
  Value self;
  Value callee;
  const Builtin* method = nullptr;
  if (expr.callee->kind == ExprKind::kAttribute) {  // a method is called without being made first
    const auto& attribute = static_cast<const Attribute&>(*expr.callee);
    TVLLM_TRY(self, eval(*attribute.object));
    if (!is_forbidden_method(self, attribute.name)) method = find_method(self, attribute.name);
    if (method == nullptr) {
      TVLLM_TRY(callee, located(attribute.line, get_attribute(runtime_, self, attribute.name)));
    }
  } else {
    TVLLM_TRY(callee, eval(*expr.callee));
  }
  TVLLM_TRY(Arguments arguments, eval_arguments(expr.arguments, expr.line));
  if (caller != nullptr) arguments.named.emplace_back(Text("caller"), *caller);
  if (method != nullptr) return located(expr.line, method->function(runtime_, self, arguments));
  return call(callee, std::move(arguments), expr.line);
}

Result<Arguments> Evaluator::eval_arguments(const ArgumentExprs& exprs, int line) {
  Arguments arguments;
  for (const ExprPtr& expr : exprs.positional) {
    TVLLM_TRY(Value value, eval(*expr));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& named : exprs.named) {
    TVLLM_TRY(Value value, eval(*named.second));
    arguments.named.emplace_back(Text(named.first), std::move(value));
  }
  if (exprs.more_positional != nullptr) {
    TVLLM_TRY(const Value more, eval(*exprs.more_positional));
    TVLLM_TRY(const SequencePtr items, located(line, iterate(runtime_, more)));
    TVLLM_RETURN_IF_ERROR(located(line, runtime_.budget().spend_items(items->items.size())));
    arguments.positional.insert(arguments.positional.end(), items->items.begin(),
                                items->items.end());
  }
  if (exprs.more_named != nullptr) {
    TVLLM_TRY(const Value more, eval(*exprs.more_named));
    TVLLM_RETURN_IF_ERROR(located(line, add_named(arguments, more)));
  }
  return arguments;
}

Status Evaluator::add_named(Arguments& arguments, const Value& more) const {
  if (!more.is(Kind::kDict)) {
    return invalid_argument(str_cat("expected a dict after **, found ", more.type_name()));
  }
  // Few enough to look for repeats one by one.
  constexpr std::size_t kMaxNamed = 256;
  const std::vector<Member>& members = more.as_dict().members();
  if (members.size() > kMaxNamed) {
    return invalid_argument(str_cat("more than ", kMaxNamed, " arguments by name"));
  }
  for (const Member& member : members) {
    if (!member.key.is(Kind::kString)) return invalid_argument("keywords must be strings");
    const Text& name = member.key.as_text();
    const bool is_repeated =
        std::any_of(arguments.named.begin(), arguments.named.end(),
                    [&name](const auto& other) { return other.first.bytes() == name.bytes(); });
    if (is_repeated) {
      return invalid_argument(
          str_cat("the argument ", quoted(name.bytes(), 40), " is given twice"));
    }
    arguments.named.emplace_back(name, member.value);
  }
  return {};
}

Result<Value> Evaluator::call(const Value& callee, Arguments arguments, int line) {
  if (callee.is(Kind::kUndefined)) {
    return error_at(ErrorCode::kInvalidArgument, line, callee.undefined_reason());
  }
  if (const auto* macro = object_as<Macro>(callee, ObjectType::kMacro)) {
    return call_macro(*macro, std::move(arguments), line);
  }
  if (const auto* function = object_as<Function>(callee, ObjectType::kFunction)) {
    return call_function(*function, arguments, line);
  }
  if (const auto* method = object_as<Method>(callee, ObjectType::kMethod)) {
    return located(line, method->entry->function(runtime_, method->self, arguments));
  }
  if (const auto* loop = object_as<Loop>(callee, ObjectType::kLoop)) {
    return call_loop(*loop, arguments, line);
  }
  if (auto* joiner = object_as<Joiner>(callee, ObjectType::kJoiner)) {
    const bool was_used = std::exchange(joiner->was_used, true);
    return was_used ? Value::text(joiner->separator) : Value::string("");
  }
  return error_at(ErrorCode::kInvalidArgument, line,
                  str_cat("'", callee.type_name(), "' object is not callable"));
}

Result<Value> Evaluator::call_function(const Function& function, Arguments& arguments, int line) {
  Result<Value> result = function.entry->function(runtime_, Value(), arguments);
  // The template's own words go to the client as they are.
  if (is_raise_exception(*function.entry)) return result;
  return located(line, std::move(result));
}

// loop(items) inside {% for ... recursive %}: the body again, one level down.
Result<Value> Evaluator::call_loop(const Loop& loop, Arguments& arguments, int line) {
  if (!loop.statement->is_recursive || !loop.is_running) {
    return error_at(ErrorCode::kInvalidArgument, line,
                    "only the running 'loop' of a for with 'recursive' can be called");
  }
  TVLLM_TRY(const Bound bound, located(line, bind("loop()", arguments, {"iterable"}, 1)));
  const Runtime::Nested nested(runtime_);  // a call takes more of the stack than its parts
  Text text;
  const Capture capture(*this, text);
  TVLLM_TRY([[maybe_unused]] const Flow flow,
            run_loop(*loop.statement, bound[0], loop.scope, loop.depth0 + 1));
  return Value::text(std::move(text));
}

Result<Value> Evaluator::call_macro(const Macro& macro, Arguments arguments, int line) {
  const Runtime::Nested nested(runtime_);  // a call takes more of the stack than its parts
  const Frame frame(*this, macro.scope);
  TVLLM_RETURN_IF_ERROR(located(line, bind_macro(*macro.definition, arguments)));
  // Defaults are evaluated in the macro, where earlier parameters are known.
  const Signature& signature = macro.definition->signature;
  const std::size_t num_required = signature.names.size() - signature.defaults.size();
  for (std::size_t i = 0; i < signature.names.size(); ++i) {
    if (scope_->has_own(signature.names[i])) continue;
    Value value = Value::undefined(
        str_cat("parameter '", template_.names[signature.names[i]], "' was not provided"));
    if (i >= num_required) {
      TVLLM_TRY(value, eval(*signature.defaults[i - num_required]));
    }
    scope_->set(signature.names[i], std::move(value));
  }
  Text text;
  const Capture capture(*this, text);
  TVLLM_TRY([[maybe_unused]] const Flow flow, run_body(macro.definition->body));
  return Value::text(std::move(text));
}

// Puts the arguments into the current scope; what is left over is an error, unless the macro
// catches it.
Status Evaluator::bind_macro(const MacroDefinition& macro, Arguments& arguments) {
  const std::vector<NameId>& names = macro.signature.names;
  const std::size_t num_placed = std::min(names.size(), arguments.positional.size());
  for (std::size_t i = 0; i < num_placed; ++i)
    scope_->set(names[i], arguments.positional[i]);
  const std::vector<Value> varargs(
      arguments.positional.begin() + static_cast<std::ptrdiff_t>(num_placed),
      arguments.positional.end());

  std::vector<Member> kwargs;
  for (auto& argument : arguments.named) {
    const auto name =
        std::find_if(names.begin() + static_cast<std::ptrdiff_t>(num_placed), names.end(),
                     [&](NameId id) { return template_.names[id] == argument.first.bytes(); });
    if (name != names.end()) {
      scope_->set(*name, std::move(argument.second));
    } else if (macro.uses_caller && argument.first.bytes() == "caller") {
      scope_->set(caller_, std::move(argument.second));
    } else if (macro.uses_kwargs) {
      kwargs.push_back({Value::text(argument.first), std::move(argument.second)});
    } else {
      return invalid_argument(str_cat("macro '", macro.display_name, "' takes no keyword argument ",
                                      quoted(argument.first.bytes(), 40)));
    }
  }
  if (macro.uses_caller && !scope_->has_own(caller_)) {
    scope_->set(caller_, Value::undefined("No caller defined"));
  }
  if (macro.uses_kwargs) {
    TVLLM_TRY(Value dict, runtime_.make_dict(std::move(kwargs)));
    scope_->set(kwargs_, std::move(dict));
  }
  if (macro.uses_varargs) {
    TVLLM_TRY(Value tuple, runtime_.make_sequence(SequenceType::kTuple, varargs));
    scope_->set(varargs_, std::move(tuple));
  } else if (!varargs.empty()) {
    return invalid_argument(str_cat("macro '", macro.display_name, "' takes not more than ",
                                    names.size(), " argument(s)"));
  }
  return {};
}

}  // namespace tvllm::chat_template
