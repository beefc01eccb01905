// SPDX-License-Identifier: Apache-2.0
#include "chat_template/arguments.h"

#include <algorithm>

#include "base/strings.h"
#include "chat_template/operators.h"

namespace tvllm::chat_template {

Result<Bound> bind(std::string_view callee, Arguments& arguments,
                   std::initializer_list<std::string_view> parameters, std::size_t num_required) {
  if (arguments.positional.size() > parameters.size()) {
    return invalid_argument(str_cat(callee, " takes at most ", parameters.size(),
                                    " arguments, found ", arguments.positional.size()));
  }
  std::vector<std::pair<std::string_view, std::optional<Value>>> slots;
  slots.reserve(parameters.size());
  for (const std::string_view name : parameters)
    slots.emplace_back(name, std::nullopt);
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    slots[i].second = std::move(arguments.positional[i]);
  }
  for (auto& argument : arguments.named) {
    const auto slot = std::find_if(slots.begin(), slots.end(), [&argument](const auto& candidate) {
      return candidate.first == argument.first.bytes();
    });
    if (slot == slots.end()) {
      return invalid_argument(
          str_cat(callee, " has no argument ", quoted(argument.first.bytes(), 40)));
    }
    if (slot->second) {
      return invalid_argument(str_cat(callee, ": '", slot->first, "' is given twice"));
    }
    slot->second = std::move(argument.second);
  }
  for (std::size_t i = 0; i < num_required; ++i) {
    if (!slots[i].second) {
      return invalid_argument(str_cat(callee, " needs the argument '", slots[i].first, "'"));
    }
  }
  return Bound(callee, std::move(slots));
}

std::optional<std::int64_t> as_index(const Value& value) {
  if (value.is(Kind::kInt)) return value.as_int();
  if (value.is(Kind::kBool)) return value.as_bool() ? 1 : 0;
  return std::nullopt;
}

Result<std::int64_t> Bound::integer(std::size_t i, std::int64_t otherwise) const {
  if (!is_given(i)) return otherwise;
  const std::optional<std::int64_t> value = as_index((*this)[i]);
  if (!value) return wrong_type(i, "an int");
  return *value;
}

Result<Text> Bound::text(std::size_t i, std::string_view otherwise) const {
  if (!is_given(i)) return Text(std::string(otherwise));
  if (!(*this)[i].is(Kind::kString)) return wrong_type(i, "a str");
  return (*this)[i].as_text();
}

bool Bound::truth(std::size_t i, bool otherwise) const {
  return has(i) ? is_truthy((*this)[i]) : otherwise;
}

Error Bound::wrong_type(std::size_t i, std::string_view expected) const {
  const Value& value = (*this)[i];
  if (value.is(Kind::kUndefined)) return invalid_argument(value.undefined_reason());
  return invalid_argument(str_cat(callee_, ": '", slots_[i].first, "' must be ", expected,
                                  ", found ", value.type_name()));
}

}  // namespace tvllm::chat_template
