// SPDX-License-Identifier: Apache-2.0
// The arguments of a call, and how builtins read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Text, Value>> named;
};

// One value, or none, for each parameter of a builtin. Reading checks the type; what is absent (or
// None, which Python uses for it) takes the default.
class Bound {
 public:
  Bound(std::string_view callee,
        std::vector<std::pair<std::string_view, std::optional<Value>>> slots)
      : callee_(callee), slots_(std::move(slots)) {}

  bool has(std::size_t i) const { return slots_[i].second.has_value(); }
  // Neither absent nor None.
  bool is_given(std::size_t i) const { return has(i) && !slots_[i].second->is(Kind::kNone); }
  // REQUIRES: has(i)
  const Value& operator[](std::size_t i) const { return *slots_[i].second; }

  Result<std::int64_t> integer(std::size_t i, std::int64_t otherwise) const;
  Result<Text> text(std::size_t i, std::string_view otherwise) const;
  bool truth(std::size_t i, bool otherwise) const;

 private:
  Error wrong_type(std::size_t i, std::string_view expected) const;

  std::string_view callee_;
  std::vector<std::pair<std::string_view, std::optional<Value>>> slots_;
};

// Python's binding: by place, then by name; the first `num_required` must be there.
Result<Bound> bind(std::string_view callee, Arguments& arguments,
                   std::initializer_list<std::string_view> parameters,
                   std::size_t num_required = 0);

// Of a bool or an int; nothing else is one.
std::optional<std::int64_t> as_index(const Value& value);

}  // namespace tvllm::chat_template
