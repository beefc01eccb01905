// SPDX-License-Identifier: Apache-2.0
// Getting at what is inside a value: items, attributes, slices, as Jinja's sandbox allows it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "chat_template/runtime.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

using SequencePtr = std::shared_ptr<const Sequence>;

// What a for would go through: items, keys, characters, nothing of an undefined value. Reads a
// generator to its end.
Result<SequencePtr> iterate(Runtime& runtime, const Value& value);
bool is_iterable(const Value& value);

// Python's len().
Result<std::int64_t> length_of(Runtime& runtime, const Value& value);

// value.name: a method first, then a member. What is not there is undefined, with the reason.
Result<Value> get_attribute(Runtime& runtime, const Value& value, std::string_view name);
// value[index]: a member first, then an attribute.
Result<Value> get_item(Runtime& runtime, const Value& value, const Value& index);

struct SliceBounds {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> stop;
  std::optional<std::int64_t> step;
};
Result<Value> get_slice(Runtime& runtime, const Value& value, const SliceBounds& bounds);

// "a.b.0" of a filter's `attribute` argument; an int is itself an index.
Result<Value> get_path(Runtime& runtime, const Value& value, const Value& path);

}  // namespace tvllm::chat_template
