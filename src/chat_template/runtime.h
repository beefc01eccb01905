// SPDX-License-Identifier: Apache-2.0
// What one render owns besides its template: the budget, the clock, the objects and the scopes.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat_template/budget.h"
#include "chat_template/objects.h"

namespace tvllm::chat_template {

// Variables of one block, inside those of the block around it.
class Scope {
 public:
  explicit Scope(Scope* parent) : parent_(parent) {}

  // nullptr if neither this scope nor one around it has the variable.
  const Value* find(NameId name) const;
  // Whether this scope itself has it.
  bool has_own(NameId name) const { return variables_.count(name) != 0; }
  void set(NameId name, Value value);
  void clear() { variables_.clear(); }

  // A macro refers to this scope, and so to those around it: they outlive their block.
  void keep();
  bool is_kept() const { return is_kept_; }
  void reset(Scope* parent);

 private:
  Scope* parent_;
  bool is_kept_ = false;
  std::unordered_map<NameId, Value> variables_;
};

// Local time for strftime_now(), as std::localtime breaks it down.
using LocalTime = std::function<std::tm()>;

// One render's, on its thread.
class Runtime {
 public:
  Runtime(const RenderLimits& limits, LocalTime local_time)
      : budget_(limits), local_time_(std::move(local_time)) {}

  Budget& budget() { return budget_; }
  std::tm local_time() const { return local_time_(); }

  template <typename T, typename... Args>
  T& make(Args&&... args) {
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T& made = *object;
    objects_.push_back(std::move(object));
    return made;
  }
  Result<Value> make_generator(std::vector<Value> items);
  // Refuses what is nested too deeply.
  Result<Value> make_sequence(SequenceType type, std::vector<Value> items);
  Result<Value> make_list(std::vector<Value> items) {
    return make_sequence(SequenceType::kList, std::move(items));
  }
  Result<Value> make_dict(std::vector<Member> members);
  // The member, or nullptr; an error if the key cannot be one.
  Result<const Value*> look_up(const Dict& dict, const Value& key);

  Scope& push_scope(Scope* parent);
  void pop_scope(Scope& scope);

  // Counts evaluation within evaluation while it lives; check() before going deeper.
  class Nested {
   public:
    explicit Nested(Runtime& runtime) : runtime_(&runtime) { ++runtime_->depth_; }
    ~Nested() { --runtime_->depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Status check() const;

   private:
    Runtime* runtime_;
  };

 private:
  Budget budget_;
  LocalTime local_time_;
  int depth_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<Scope*> free_scopes_;
};

}  // namespace tvllm::chat_template
