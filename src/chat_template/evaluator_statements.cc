// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/evaluator.h"
#include "chat_template/functions.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"

namespace tvllm::chat_template {

namespace {

template <typename T>
const T& as(const Statement& statement) {
  return static_cast<const T&>(statement);
}

}  // namespace

Evaluator::Evaluator(const Template& source, const Dict& globals, const RenderLimits& limits,
                     LocalTime local_time)
    : template_(source), runtime_(limits, std::move(local_time)) {
  globals_.resize(source.names.size());
  for (std::size_t i = 0; i < source.names.size(); ++i) {
    const std::string& name = source.names[i];
    const auto id = static_cast<NameId>(i);
    if (name == "loop") loop_ = id;
    if (name == "caller") caller_ = id;
    if (name == "varargs") varargs_ = id;
    if (name == "kwargs") kwargs_ = id;
    if (const Value* given = globals.find(name)) {
      globals_[i] = *given;
    } else if (const Builtin* function = find_function(name)) {
      globals_[i] = Value::object(&runtime_.make<Function>(function));
    }
  }
}

Evaluator::Frame::Frame(Evaluator& evaluator, Scope* parent)
    : evaluator_(&evaluator), outer_(evaluator.scope_) {
  evaluator.scope_ = &evaluator.runtime_.push_scope(parent);
}

Evaluator::Frame::~Frame() {
  evaluator_->runtime_.pop_scope(*evaluator_->scope_);
  evaluator_->scope_ = outer_;
}

Result<Text> Evaluator::run() {
  const Frame frame(*this, nullptr);
  TVLLM_TRY([[maybe_unused]] const Flow flow, run_body(template_.body));
  return std::move(result_);
}

Result<Evaluator::Flow> Evaluator::run_body(const Body& body) {
  const Runtime::Nested nested(runtime_);
  for (const StatementPtr& statement : body) {
    TVLLM_RETURN_IF_ERROR(located(statement->line, nested.check()));
    TVLLM_RETURN_IF_ERROR(located(statement->line, runtime_.budget().spend(1)));
    TVLLM_TRY(const Flow flow, run_statement(*statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kText:
      TVLLM_RETURN_IF_ERROR(
          located(statement.line, sink().append_own(as<TextStatement>(statement).text)));
      return Flow::kNext;
    case StatementKind::kPrint: {
      TVLLM_TRY(const Value value, eval(*as<Print>(statement).value));
      TVLLM_RETURN_IF_ERROR(print(value, statement.line));
      return Flow::kNext;
    }
    case StatementKind::kIf:
      return run_if(as<If>(statement));
    case StatementKind::kFor: {
      const auto& loop = as<For>(statement);
      TVLLM_TRY(const Value iterable, eval(*loop.iterable));
      return run_loop(loop, iterable, scope_, 0);
    }
    case StatementKind::kSet: {
      TVLLM_TRY(const Value value, eval(*as<Set>(statement).value));
      TVLLM_RETURN_IF_ERROR(assign(as<Set>(statement).target, value));
      return Flow::kNext;
    }
    case StatementKind::kSetBlock:
      return run_set_block(as<SetBlock>(statement));
    case StatementKind::kMacro:
      TVLLM_RETURN_IF_ERROR(define_macro(as<MacroDefinition>(statement)));
      return Flow::kNext;
    case StatementKind::kCallBlock:
      TVLLM_RETURN_IF_ERROR(run_call_block(as<CallBlock>(statement)));
      return Flow::kNext;
    case StatementKind::kFilterBlock:
      return run_filter_block(as<FilterBlock>(statement));
    case StatementKind::kWith:
      return run_with(as<With>(statement));
    case StatementKind::kGeneration: {
      const Frame frame(*this, scope_);
      return run_body(as<Generation>(statement).body);
    }
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_if(const If& statement) {
  for (const auto& branch : statement.branches) {
    TVLLM_TRY(const Value condition, eval(*branch.first));
    if (is_truthy(condition)) return run_body(branch.second);
  }
  return run_body(statement.otherwise);
}

// Each turn has a scope of its own: what is set in one is gone in the next. As in Jinja, `else`
// runs if no turn came to its end, so also if the first one breaks.
Result<Evaluator::Flow> Evaluator::run_loop(const For& statement, const Value& iterable,
                                            Scope* outer, int depth0) {
  TVLLM_TRY(SequencePtr items, located(statement.line, iterate(runtime_, iterable)));
  if (statement.condition != nullptr) {
    TVLLM_TRY(items, select_items(statement, *items, outer));
  }
  auto& loop = runtime_.make<Loop>();
  loop.items = items;
  loop.depth0 = depth0;
  loop.statement = &statement;
  loop.scope = outer;
  bool was_run = false;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    loop.index0 = i;
    const Frame frame(*this, outer);
    TVLLM_RETURN_IF_ERROR(located(statement.line, runtime_.budget().spend(1)));
    scope_->set(loop_, Value::object(&loop));
    TVLLM_RETURN_IF_ERROR(assign(statement.target, items->items[i]));
    TVLLM_TRY(const Flow flow, run_body(statement.body));
    if (flow == Flow::kBreak) break;
    was_run |= flow == Flow::kNext;
  }
  loop.is_running = false;
  if (was_run) return Flow::kNext;
  const Frame frame(*this, outer);
  return run_body(statement.otherwise);
}

// The items for which the loop's own `if` holds; there `loop` is not yet known.
Result<SequencePtr> Evaluator::select_items(const For& statement, const Sequence& items,
                                            Scope* outer) {
  std::vector<Value> selected;
  for (const Value& item : items.items) {
    const Frame frame(*this, outer);
    scope_->set(loop_, Value::undefined("'loop' is undefined in the condition of a for"));
    TVLLM_RETURN_IF_ERROR(assign(statement.target, item));
    TVLLM_TRY(const Value holds, eval(*statement.condition));
    if (is_truthy(holds)) selected.push_back(item);
  }
  TVLLM_TRY(const Value list, located(statement.line, runtime_.make_list(std::move(selected))));
  return list.sequence_ptr();
}

Result<std::pair<Evaluator::Flow, Text>> Evaluator::capture_body(const Body& body) {
  Text text;
  Flow flow = Flow::kNext;
  {
    const Frame frame(*this, scope_);
    const Capture capture(*this, text);
    TVLLM_TRY(flow, run_body(body));
  }
  return std::pair(flow, std::move(text));
}

Result<Value> Evaluator::filter_text(const Expr& chain, Text text) {
  const Value subject = Value::text(std::move(text));
  const Value* outer = std::exchange(block_text_, &subject);
  Result<Value> filtered = eval(chain);
  block_text_ = outer;
  return filtered;
}

Result<Evaluator::Flow> Evaluator::run_set_block(const SetBlock& statement) {
  TVLLM_TRY(auto captured, capture_body(statement.body));
  if (captured.first != Flow::kNext) return captured.first;
  Value value = Value::text(std::move(captured.second));
  if (statement.filter != nullptr) {
    TVLLM_TRY(value, filter_text(*statement.filter, value.as_text()));
  }
  TVLLM_RETURN_IF_ERROR(assign(statement.target, value));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_filter_block(const FilterBlock& statement) {
  TVLLM_TRY(auto captured, capture_body(statement.body));
  if (captured.first != Flow::kNext) return captured.first;
  TVLLM_TRY(const Value filtered, filter_text(*statement.filter, std::move(captured.second)));
  TVLLM_RETURN_IF_ERROR(print(filtered, statement.line));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_with(const With& statement) {
  std::vector<Value> values;
  for (const auto& assignment : statement.assignments) {
    TVLLM_TRY(Value value, eval(*assignment.second));
    values.push_back(std::move(value));
  }
  const Frame frame(*this, scope_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    TVLLM_RETURN_IF_ERROR(assign(statement.assignments[i].first, values[i]));
  }
  return run_body(statement.body);
}

Status Evaluator::run_call_block(const CallBlock& statement) {
  scope_->keep();
  const Value caller = Value::object(&runtime_.make<Macro>(statement.caller.get(), scope_));
  TVLLM_TRY(const Value value, eval_call(static_cast<const Call&>(*statement.call), &caller));
  return print(value, statement.line);
}

Status Evaluator::define_macro(const MacroDefinition& definition) {
  scope_->keep();
  scope_->set(definition.name, Value::object(&runtime_.make<Macro>(&definition, scope_)));
  return {};
}

Status Evaluator::print(const Value& value, int line) {
  TextSink out = sink();
  return located(line, write_text(out, value));
}

Status Evaluator::assign(const Target& target, const Value& value) {
  switch (target.kind) {
    case Target::Kind::kName:
      scope_->set(target.name, value);
      return {};
    case Target::Kind::kNamespaceAttribute:
      return located(target.line, assign_attribute(target, value));
    case Target::Kind::kTuple:
      break;
  }
  TVLLM_TRY(const SequencePtr items, located(target.line, iterate(runtime_, value)));
  if (items->items.size() != target.items.size()) {
    return error_at(ErrorCode::kInvalidArgument, target.line,
                    str_cat("expected ", target.items.size(), " values to unpack, found ",
                            items->items.size()));
  }
  for (std::size_t i = 0; i < target.items.size(); ++i) {
    TVLLM_RETURN_IF_ERROR(assign(target.items[i], items->items[i]));
  }
  return {};
}

Status Evaluator::assign_attribute(const Target& target, const Value& value) {
  auto* space = object_as<Namespace>(look_up(target.name), ObjectType::kNamespace);
  if (space == nullptr) {
    return invalid_argument(str_cat("cannot assign to an attribute of '",
                                    template_.names[target.name], "': it is not a namespace"));
  }
  space->set(Text(target.attribute), value);
  return {};
}

}  // namespace tvllm::chat_template
