// SPDX-License-Identifier: Apache-2.0
#include "chat_template/value.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "chat_template/objects.h"

namespace tvllm::chat_template {

Value Value::string(std::string own) {
  return text(Text(std::move(own)));
}

Value Value::input_string(std::string written) {
  return text(Text::input(std::move(written)));
}

Value Value::text(Text value) {
  return Value(TextPtr(std::make_shared<const Text>(std::move(value))));
}

Value Value::list(std::vector<Value> items) {
  return sequence(std::make_shared<const Sequence>(SequenceType::kList, std::move(items)));
}

Value Value::dict(std::vector<std::pair<Text, Value>> members) {
  std::vector<Member> list;
  list.reserve(members.size());
  for (auto& member : members) {
    list.push_back({text(std::move(member.first)), std::move(member.second)});
  }
  return dict(std::make_shared<const Dict>(std::move(list)));
}

Value Value::undefined(std::string reason) {
  return Value(ReasonPtr(std::make_shared<const std::string>(std::move(reason))));
}

Value Value::sequence(std::shared_ptr<const Sequence> items) {
  return Value(SequencePtr(std::move(items)));
}

Value Value::dict(std::shared_ptr<const Dict> members) {
  return Value(DictPtr(std::move(members)));
}

const std::string& Value::undefined_reason() const {
  static const std::string no_reason = "the value is undefined";
  const auto* reason = std::get_if<ReasonPtr>(&storage_);
  return reason != nullptr && *reason != nullptr ? **reason : no_reason;
}

bool Value::is_same(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kFloat:
      return as_float() == other.as_float();
    case Kind::kString:
      return as_text().bytes() == other.as_text().bytes();
    default:
      return storage_ == other.storage_;
  }
}

int Value::depth() const {
  if (is(Kind::kSequence)) return as_sequence().depth;
  if (is(Kind::kDict)) return as_dict().depth();
  return 0;
}

std::string_view Value::type_name() const {
  switch (kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kSequence: {
      constexpr std::string_view kNames[] = {"list",      "tuple",       "range",
                                             "dict_keys", "dict_values", "dict_items"};
      return kNames[static_cast<std::size_t>(as_sequence().type)];
    }
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return as_object().type_name();
  }
  return "object";
}

Sequence::Sequence(SequenceType sequence_type, std::vector<Value> sequence_items)
    : type(sequence_type), items(std::move(sequence_items)) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  for (const Value& item : items) {
    depth = std::max(depth, item.depth() + 1);
    weight += item.is(Kind::kSequence) ? item.as_sequence().weight : 1;
    weight = std::min(weight, kMost);
  }
}

Dict::Dict(std::vector<Member> members) {
  // Sorting indices by key, then by place, puts the members of one key side by side.
  std::vector<std::uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&members](std::uint32_t a, std::uint32_t b) {
    return compare_keys(members[a].key, members[b].key) < 0;
  });
  std::vector<bool> repeats(members.size(), false);
  for (std::size_t i = 0, first = 0; i < order.size(); ++i) {
    if (i == 0 || compare_keys(members[order[first]].key, members[order[i]].key) != 0) {
      first = i;
    } else {
      members[order[first]].value = std::move(members[order[i]].value);
      repeats[order[i]] = true;
    }
  }

  std::vector<std::uint32_t> new_place(members.size(), 0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (repeats[i]) continue;
    new_place[i] = static_cast<std::uint32_t>(members_.size());
    depth_ = std::max({depth_, members[i].key.depth() + 1, members[i].value.depth() + 1});
    members_.push_back(std::move(members[i]));
  }
  by_key_.reserve(members_.size());
  for (const std::uint32_t i : order) {
    if (!repeats[i]) by_key_.push_back(new_place[i]);
  }
}

const Value* Dict::find(const Value& key) const {
  const auto at = std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [this](std::uint32_t i, const Value& k) { return compare_keys(members_[i].key, k) < 0; });
  if (at == by_key_.end() || compare_keys(members_[*at].key, key) != 0) return nullptr;
  return &members_[*at].value;
}

const Value* Dict::find(std::string_view key) const {
  return find(Value::string(std::string(key)));
}

bool is_hashable(const Value& value) {
  switch (value.kind()) {
    case Kind::kDict:
      return false;
    case Kind::kSequence: {
      const Sequence& sequence = value.as_sequence();
      if (sequence.type != SequenceType::kTuple || sequence.weight > kMaxKeyWeight) return false;
      return std::all_of(sequence.items.begin(), sequence.items.end(), is_hashable);
    }
    default:
      return true;
  }
}

namespace {

template <typename T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int compare_int_float(std::int64_t a, double b) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (std::isnan(b) || b >= kTwo63) return -1;
  if (b < -kTwo63) return 1;
  const double whole = std::trunc(b);
  const int order = three_way(a, static_cast<std::int64_t>(whole));
  return order != 0 ? order : three_way(0.0, b - whole);
}

int key_class(const Value& value) {
  return value.is_number() ? static_cast<int>(Kind::kInt) : static_cast<int>(value.kind());
}

std::int64_t int_of(const Value& value) {
  return value.is(Kind::kBool) ? (value.as_bool() ? 1 : 0) : value.as_int();
}

}  // namespace

int compare_numbers(const Value& a, const Value& b) {
  const bool a_is_float = a.is(Kind::kFloat);
  const bool b_is_float = b.is(Kind::kFloat);
  if (a_is_float && b_is_float) {
    const bool a_is_nan = std::isnan(a.as_float());
    const bool b_is_nan = std::isnan(b.as_float());
    if (a_is_nan || b_is_nan) return three_way(a_is_nan, b_is_nan);
    return three_way(a.as_float(), b.as_float());
  }
  if (a_is_float) return -compare_int_float(int_of(b), a.as_float());
  if (b_is_float) return compare_int_float(int_of(a), b.as_float());
  return three_way(int_of(a), int_of(b));
}

int compare_keys(const Value& a, const Value& b) {
  if (const int order = three_way(key_class(a), key_class(b)); order != 0) return order;
  if (a.is_number()) return compare_numbers(a, b);
  if (a.is(Kind::kString)) return a.as_text().bytes().compare(b.as_text().bytes());
  if (a.is(Kind::kObject)) {
    const std::less<const Object*> before;
    return before(&a.as_object(), &b.as_object()) ? -1 : (a.is_same(b) ? 0 : 1);
  }
  if (!a.is(Kind::kSequence)) return 0;
  const Sequence& left = a.as_sequence();
  const Sequence& right = b.as_sequence();
  if (const int order = three_way(left.type, right.type); order != 0) return order;
  for (std::size_t i = 0; i < std::min(left.items.size(), right.items.size()); ++i) {
    if (const int order = compare_keys(left.items[i], right.items[i]); order != 0) return order;
  }
  return three_way(left.items.size(), right.items.size());
}

}  // namespace tvllm::chat_template
