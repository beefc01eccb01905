// SPDX-License-Identifier: Apache-2.0
// The values that live inside one run: namespaces, macros, loops, generators and callables.
//
// A Runtime owns them all, so that values refer to them by plain pointers and cycles cannot leak.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat_template/arguments.h"
#include "chat_template/statement.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

class Runtime;
class Scope;

enum class ObjectType {
  kNamespace,
  kMacro,
  kLoop,
  kGenerator,
  kMethod,
  kFunction,
  kCycler,
  kJoiner
};

struct Object {
  explicit Object(ObjectType object_type) : type(object_type) {}
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  std::string_view type_name() const;
  // Which Python object this prints as, where that does not depend on addresses.
  ObjectType type;
};

// namespace(): the only thing a template can change.
struct Namespace : Object {
  Namespace() : Object(ObjectType::kNamespace) {}
  Value* find(std::string_view name);
  void set(const Text& name, Value value);

  std::vector<std::pair<Text, Value>> attributes;
};

struct Macro : Object {
  Macro(const MacroDefinition* macro_definition, Scope* defining_scope)
      : Object(ObjectType::kMacro), definition(macro_definition), scope(defining_scope) {}
  const MacroDefinition* definition;
  Scope* scope;  // where it was defined; kept by the Runtime
};

// The variable `loop`.
struct Loop : Object {
  Loop() : Object(ObjectType::kLoop) {}
  std::shared_ptr<const Sequence> items;
  std::size_t index0 = 0;
  int depth0 = 0;
  bool is_running = true;
  const For* statement = nullptr;
  Scope* scope = nullptr;           // around the statement; there while the loop runs
  std::vector<Value> last_changed;  // what changed() saw last
  bool was_asked_changed = false;
};

// What map, select and the like give: read once, without a length, always true.
struct Generator : Object {
  Generator() : Object(ObjectType::kGenerator) {}
  std::shared_ptr<const Sequence> items;
  std::size_t next = 0;
};

using BuiltinFunction = Result<Value> (*)(Runtime& runtime, const Value& self,
                                          Arguments& arguments);

struct Builtin {
  std::string_view name;
  BuiltinFunction function;
};

struct Method : Object {  // 'abc'.upper, not yet called
  Method(Value method_self, const Builtin* method_entry)
      : Object(ObjectType::kMethod), self(std::move(method_self)), entry(method_entry) {}
  Value self;
  const Builtin* entry;
};

struct Function : Object {  // range, dict, raise_exception, ...
  explicit Function(const Builtin* function_entry)
      : Object(ObjectType::kFunction), entry(function_entry) {}
  const Builtin* entry;
};

struct Cycler : Object {
  Cycler() : Object(ObjectType::kCycler) {}
  std::vector<Value> items;
  std::size_t next = 0;
};

struct Joiner : Object {
  Joiner() : Object(ObjectType::kJoiner) {}
  Text separator;
  bool was_used = false;
};

// The object behind a value, or nullptr if it is another thing.
template <typename T>
T* object_as(const Value& value, ObjectType type) {
  if (!value.is(Kind::kObject) || value.as_object().type != type) return nullptr;
  return static_cast<T*>(&value.as_object());
}

}  // namespace tvllm::chat_template
