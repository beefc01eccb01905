// SPDX-License-Identifier: Apache-2.0
// Python's methods of str, dict, list and tuple, and those of Jinja's helper objects.
#pragma once

#include <string_view>

#include "chat_template/objects.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

// nullptr if the value has no such method.
const Builtin* find_method(const Value& value, std::string_view name);

// Methods that would change a list or dict: the sandbox hides them.
bool is_forbidden_method(const Value& value, std::string_view name);

// Methods of str that Python has and this engine has not: a template that calls one is refused.
bool is_unsupported_method(std::string_view name);

// The tables of each type, by file.
const Builtin* find_string_method(std::string_view name);
const Builtin* find_container_method(const Value& value, std::string_view name);
const Builtin* find_object_method(const Object& object, std::string_view name);

// What {{ macro.name }} shows.
Value macro_name(const Macro& macro);

template <typename Table>
const Builtin* find_entry(const Table& table, std::string_view name) {
  for (const Builtin& entry : table) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace tvllm::chat_template
