// SPDX-License-Identifier: Apache-2.0
// Jinja's tests, by name: what may stand after `is`.
#pragma once

#include <string_view>

#include "base/result.h"
#include "chat_template/arguments.h"
#include "chat_template/runtime.h"

namespace tvllm::chat_template {

struct PredicateEntry {
  std::string_view name;
  Result<bool> (*function)(Runtime& runtime, const Value& subject, Arguments& arguments);
};

// nullptr if there is none.
const PredicateEntry* find_predicate(std::string_view name);

Error unknown_predicate(std::string_view name, int line);

bool is_callable(const Value& value);

}  // namespace tvllm::chat_template
