// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/methods.h"
#include "chat_template/operators.h"
#include "chat_template/runtime.h"

namespace tvllm::chat_template {

namespace {

Result<Value> get_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("get()", arguments, {"key", "default"}, 1));
  TVLLM_TRY(const Value* found, runtime.look_up(self.as_dict(), bound[0]));
  if (found != nullptr) return *found;
  return bound.has(1) ? bound[1] : Value::none();
}

template <SequenceType type>
Result<Value> view_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("items()", arguments, {}));
  const std::vector<Member>& members = self.as_dict().members();
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(members.size()));
  std::vector<Value> items;
  items.reserve(members.size());
  for (const Member& member : members) {
    if (type == SequenceType::kDictKeys) items.push_back(member.key);
    if (type == SequenceType::kDictValues) items.push_back(member.value);
    if (type == SequenceType::kDictItems) {
      TVLLM_TRY(Value pair,
                runtime.make_sequence(SequenceType::kTuple, {member.key, member.value}));
      items.push_back(std::move(pair));
    }
  }
  return runtime.make_sequence(type, std::move(items));
}

Result<Value> copy_method(Runtime& /*runtime*/, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("copy()", arguments, {}));
  return self;
}

Result<Value> index_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("index()", arguments, {"value"}, 1));
  const std::vector<Value>& items = self.as_sequence().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    TVLLM_TRY(const bool equal, are_equal(runtime.budget(), items[i], bound[0]));
    if (equal) return Value::integer(static_cast<std::int64_t>(i));
  }
  return invalid_argument("index(): the value is not in the list");
}

Result<Value> count_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("count()", arguments, {"value"}, 1));
  std::int64_t count = 0;
  for (const Value& item : self.as_sequence().items) {
    TVLLM_TRY(const bool equal, are_equal(runtime.budget(), item, bound[0]));
    count += equal ? 1 : 0;
  }
  return Value::integer(count);
}

Result<Value> cycle_method(Runtime& /*runtime*/, const Value& self, Arguments& arguments) {
  const auto& loop = static_cast<const Loop&>(self.as_object());
  if (arguments.positional.empty()) return invalid_argument("cycle(): no items to cycle through");
  return arguments.positional[loop.index0 % arguments.positional.size()];
}

Result<Value> changed_method(Runtime& runtime, const Value& self, Arguments& arguments) {
  auto& loop = static_cast<Loop&>(self.as_object());
  bool is_same = loop.was_asked_changed && loop.last_changed.size() == arguments.positional.size();
  for (std::size_t i = 0; is_same && i < arguments.positional.size(); ++i) {
    TVLLM_TRY(is_same, are_equal(runtime.budget(), loop.last_changed[i], arguments.positional[i]));
  }
  loop.was_asked_changed = true;
  if (!is_same) loop.last_changed = std::move(arguments.positional);
  return Value::boolean(!is_same);
}

Result<Value> next_method(Runtime& /*runtime*/, const Value& self, Arguments& /*arguments*/) {
  auto& cycler = static_cast<Cycler&>(self.as_object());
  const std::size_t at = cycler.next;
  cycler.next = (at + 1) % cycler.items.size();
  return cycler.items[at];
}

Result<Value> reset_method(Runtime& /*runtime*/, const Value& self, Arguments& /*arguments*/) {
  static_cast<Cycler&>(self.as_object()).next = 0;
  return Value::none();
}

constexpr Builtin kDictMethods[] = {
    {"get", get_method},
    {"items", view_method<SequenceType::kDictItems>},
    {"keys", view_method<SequenceType::kDictKeys>},
    {"values", view_method<SequenceType::kDictValues>},
    {"copy", copy_method},
};
constexpr Builtin kListMethods[] = {
    {"index", index_method},
    {"count", count_method},
    {"copy", copy_method},
};
constexpr Builtin kTupleMethods[] = {{"index", index_method}, {"count", count_method}};
constexpr Builtin kLoopMethods[] = {{"cycle", cycle_method}, {"changed", changed_method}};
constexpr Builtin kCyclerMethods[] = {{"next", next_method}, {"reset", reset_method}};

constexpr std::array<std::string_view, 6> kDictChanges = {"clear",   "fromkeys",   "pop",
                                                          "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear",   "extend", "insert",
                                                          "pop",    "reverse", "remove", "sort"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_forbidden_method(const Value& value, std::string_view name) {
  if (value.is(Kind::kDict)) return has(kDictChanges, name);
  return value.is(Kind::kSequence) && value.as_sequence().type == SequenceType::kList &&
         has(kListChanges, name);
}

const Builtin* find_container_method(const Value& value, std::string_view name) {
  if (value.is(Kind::kDict)) return find_entry(kDictMethods, name);
  switch (value.as_sequence().type) {
    case SequenceType::kList:
      return find_entry(kListMethods, name);
    case SequenceType::kTuple:
    case SequenceType::kRange:
      return find_entry(kTupleMethods, name);
    default:
      return nullptr;
  }
}

const Builtin* find_object_method(const Object& object, std::string_view name) {
  if (object.type == ObjectType::kLoop) return find_entry(kLoopMethods, name);
  if (object.type == ObjectType::kCycler) return find_entry(kCyclerMethods, name);
  return nullptr;
}

const Builtin* find_method(const Value& value, std::string_view name) {
  switch (value.kind()) {
    case Kind::kString:
      return find_string_method(name);
    case Kind::kSequence:
    case Kind::kDict:
      return find_container_method(value, name);
    case Kind::kObject:
      return find_object_method(value.as_object(), name);
    default:
      return nullptr;
  }
}

}  // namespace tvllm::chat_template
