// SPDX-License-Identifier: Apache-2.0
// Runs a template once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat_template/lexer.h"
#include "chat_template/runtime.h"
#include "chat_template/statement.h"

namespace tvllm::chat_template {

// One use, on one thread; the template and the globals outlive it. Split over
// evaluator_statements.cc, evaluator_expressions.cc and evaluator_calls.cc.
//
// Recursion is bounded: through the tree by the parser's limits, through macros and recursive loops
// by RenderLimits::max_depth.
class Evaluator {
 public:
  Evaluator(const Template& source, const Dict& globals, const RenderLimits& limits,
            LocalTime local_time);

  Result<Text> run();

 private:
  enum class Flow { kNext, kBreak, kContinue };

  // A scope for as long as it lives.
  class Frame {
   public:
    Frame(Evaluator& evaluator, Scope* parent);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Evaluator* evaluator_;
    Scope* outer_;
  };

  // Output goes to `text` for as long as it lives.
  class Capture {
   public:
    Capture(Evaluator& evaluator, Text& text)
        : evaluator_(&evaluator), outer_(std::exchange(evaluator.out_, &text)) {}
    ~Capture() { evaluator_->out_ = outer_; }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

   private:
    Evaluator* evaluator_;
    Text* outer_;
  };

  // Statements.
  Result<Flow> run_body(const Body& body);
  Result<Flow> run_statement(const Statement& statement);
  Result<Flow> run_if(const If& statement);
  Result<Flow> run_loop(const For& statement, const Value& iterable, Scope* outer, int depth0);
  Result<std::shared_ptr<const Sequence>> select_items(const For& statement, const Sequence& items,
                                                       Scope* outer);
  Result<Flow> run_set_block(const SetBlock& statement);
  Result<Flow> run_filter_block(const FilterBlock& statement);
  Result<Flow> run_with(const With& statement);
  Status run_call_block(const CallBlock& statement);
  Status define_macro(const MacroDefinition& definition);
  Status print(const Value& value, int line);
  Status assign(const Target& target, const Value& value);
  Status assign_attribute(const Target& target, const Value& value);
  // Runs a body into a text of its own, in a scope of its own.
  Result<std::pair<Flow, Text>> capture_body(const Body& body);
  Result<Value> filter_text(const Expr& chain, Text text);

  // Expressions.
  Result<Value> eval(const Expr& expr);
  Result<Value> eval_name(const Name& expr);
  Result<Value> eval_list(const ListDisplay& expr);
  Result<Value> eval_dict(const DictDisplay& expr);
  Result<Value> eval_unary(const Unary& expr);
  Result<Value> eval_binary(const Binary& expr);
  Result<Value> eval_text_chain(const Binary& expr, const Value& left, std::size_t& next);
  Result<Value> eval_logic(const Logic& expr);
  Result<Value> eval_compare(const Compare& expr);
  Result<Value> eval_condition(const Condition& expr);
  Result<Value> eval_slice(const Slice& expr);
  Result<Value> eval_filter(const Filter& expr);
  Result<Value> eval_test(const Test& expr);
  Result<std::optional<std::int64_t>> eval_bound(const ExprPtr& expr);
  Value look_up(NameId name) const;

  // Calls.
  Result<Value> eval_call(const Call& expr, const Value* caller);
  Result<Arguments> eval_arguments(const ArgumentExprs& exprs, int line);
  Status add_named(Arguments& arguments, const Value& more) const;
  Result<Value> call(const Value& callee, Arguments arguments, int line);
  Result<Value> call_function(const Function& function, Arguments& arguments, int line);
  Result<Value> call_macro(const Macro& macro, Arguments arguments, int line);
  Result<Value> call_loop(const Loop& loop, Arguments& arguments, int line);
  Status bind_macro(const MacroDefinition& macro, Arguments& arguments);

  TextSink sink() { return TextSink(runtime_.budget(), *out_); }

  const Template& template_;
  Runtime runtime_;
  std::vector<Value> globals_;  // by NameId; undefined where there is none
  NameId loop_ = 0;             // the names that have a meaning, where the template uses them
  NameId caller_ = 0;
  NameId varargs_ = 0;
  NameId kwargs_ = 0;
  Text result_;
  Text* out_ = &result_;
  Scope* scope_ = nullptr;
  const Value* block_text_ = nullptr;  // the subject of a filter chain without one
};

// The error of a result, with its place; results that evaluate further have theirs already.
template <typename T>
Result<T> located(int line, Result<T> result) {
  if (result.has_value()) return result;
  return error_at(result.error().code, line, result.error().message);
}
inline Status located(int line, Status status) {
  if (status.has_value()) return status;
  return error_at(status.error().code, line, status.error().message);
}

}  // namespace tvllm::chat_template
