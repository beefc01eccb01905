// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/filters.h"
#include "chat_template/methods.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/runtime.h"
#include "chat_template/text_ops.h"

namespace tvllm::chat_template {

namespace {

Result<Value> fold_case(Runtime& runtime, const Value& value) {
  if (!value.is(Kind::kString)) return value;
  TVLLM_TRY(Text text, change_case(runtime.budget(), value.as_text(), CaseChange::kLower));
  return Value::text(std::move(text));
}

// What an item is compared by: an attribute of it if one is given, without regard to case unless
// asked.
struct KeyRule {
  std::optional<Value> attribute;
  bool is_case_sensitive = false;

  Result<Value> key_of(Runtime& runtime, const Value& item) const {
    Value key = item;
    if (attribute) {
      TVLLM_TRY(key, get_path(runtime, item, *attribute));
    }
    return is_case_sensitive ? Result<Value>(key) : fold_case(runtime, key);
  }
};

KeyRule key_rule(const Bound& bound, std::size_t case_sensitive, std::size_t attribute) {
  KeyRule rule;
  rule.is_case_sensitive = bound.truth(case_sensitive, false);
  if (bound.is_given(attribute)) rule.attribute = bound[attribute];
  return rule;
}

struct Keyed {
  Value key;
  Value item;
};

// Stable; the first failure to compare ends it.
Status sort_by_key(Runtime& runtime, std::vector<Keyed>& items, bool is_reversed) {
  std::optional<Error> failure;
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    if (failure) return false;
    Result<bool> less = is_reversed ? is_less(runtime.budget(), b.key, a.key)
                                    : is_less(runtime.budget(), a.key, b.key);
    if (!less) failure = less.error();
    return less.has_value() && *less;
  });
  if (failure) return *std::move(failure);
  return {};
}

std::vector<Value> items_of(std::vector<Keyed> keyed) {
  std::vector<Value> items;
  items.reserve(keyed.size());
  for (Keyed& one : keyed)
    items.push_back(std::move(one.item));
  return items;
}

Result<Value> length_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("length", arguments, {}));
  TVLLM_TRY(const std::int64_t length, length_of(runtime, subject));
  return Value::integer(length);
}

Result<Value> list_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("list", arguments, {}));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  return runtime.make_list(items->items);
}

Result<Value> first_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("first", arguments, {}));
  const Value none = Value::undefined("No first item, sequence was empty.");
  if (auto* generator = object_as<Generator>(subject, ObjectType::kGenerator)) {
    if (generator->next == generator->items->items.size()) return none;
    return generator->items->items[generator->next++];
  }
  if (subject.is(Kind::kString) && !subject.as_text().empty()) {
    return get_item(runtime, subject, Value::integer(0));
  }
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  return items->items.empty() ? none : items->items.front();
}

Result<Value> last_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("last", arguments, {}));
  if (subject.is(Kind::kObject)) {
    return invalid_argument(str_cat("a '", subject.type_name(), "' object is not reversible"));
  }
  if (subject.is(Kind::kString) && !subject.as_text().empty()) {
    return get_item(runtime, subject, Value::integer(-1));
  }
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  if (items->items.empty()) return Value::undefined("No last item, sequence was empty.");
  return items->items.back();
}

Result<Value> join_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("join", arguments, {"d", "attribute"}));
  TVLLM_TRY(const Text separator,
            to_text(runtime.budget(), bound.has(0) ? bound[0] : Value::string("")));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  Text out;
  TextSink sink(runtime.budget(), out);
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    Value item = items->items[i];
    if (bound.is_given(1)) {
      TVLLM_TRY(item, get_path(runtime, item, bound[1]));
    }
    if (i > 0) TVLLM_RETURN_IF_ERROR(sink.append(separator));
    TVLLM_RETURN_IF_ERROR(write_text(sink, item));
  }
  return Value::text(std::move(out));
}

Result<Value> reverse_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("reverse", arguments, {}));
  if (subject.is(Kind::kString)) return get_slice(runtime, subject, {{}, {}, -1});
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(items->items.size()));
  std::vector<Value> reversed(items->items.rbegin(), items->items.rend());
  // What cannot be read backwards comes as a list.
  if (subject.is(Kind::kObject)) return runtime.make_list(std::move(reversed));
  return runtime.make_generator(std::move(reversed));
}

Result<Value> sort_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  std::vector<KeyRule> rules;
  if (bound.is_given(2) && bound[2].is(Kind::kString)) {
    for (const std::string_view part : split(bound[2].as_text().bytes(), ',')) {
      rules.push_back({Value::string(std::string(part)), bound.truth(1, false)});
    }
  } else {
    rules.push_back(key_rule(bound, 1, 2));
  }
  std::vector<Keyed> keyed;
  for (const Value& item : items->items) {
    std::vector<Value> key;
    for (const KeyRule& rule : rules) {
      TVLLM_TRY(Value part, rule.key_of(runtime, item));
      key.push_back(std::move(part));
    }
    TVLLM_TRY(Value whole, runtime.make_list(std::move(key)));
    keyed.push_back({std::move(whole), item});
  }
  TVLLM_RETURN_IF_ERROR(sort_by_key(runtime, keyed, bound.truth(0, false)));
  return runtime.make_list(items_of(std::move(keyed)));
}

Result<Value> dictsort_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  TVLLM_TRY(const Text by, bound.text(1, "key"));
  if (by.bytes() != "key" && by.bytes() != "value") {
    return invalid_argument("dictsort: 'by' must be \"key\" or \"value\"");
  }
  if (subject.is(Kind::kUndefined)) return invalid_argument(subject.undefined_reason());
  if (!subject.is(Kind::kDict)) {
    return invalid_argument(str_cat("dictsort needs a dict, found ", subject.type_name()));
  }
  KeyRule rule;
  rule.is_case_sensitive = bound.truth(0, false);
  std::vector<Keyed> keyed;
  for (const Member& member : subject.as_dict().members()) {
    TVLLM_TRY(Value key, rule.key_of(runtime, by.bytes() == "key" ? member.key : member.value));
    TVLLM_TRY(Value pair, runtime.make_sequence(SequenceType::kTuple, {member.key, member.value}));
    keyed.push_back({std::move(key), std::move(pair)});
  }
  TVLLM_RETURN_IF_ERROR(sort_by_key(runtime, keyed, bound.truth(2, false)));
  return runtime.make_list(items_of(std::move(keyed)));
}

Result<Value> unique_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("unique", arguments, {"case_sensitive", "attribute"}));
  const KeyRule rule = key_rule(bound, 0, 1);
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  const auto before = [](const Value& a, const Value& b) { return compare_keys(a, b) < 0; };
  std::set<Value, decltype(before)> seen(before);
  std::vector<Value> kept;
  for (const Value& item : items->items) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    TVLLM_TRY(const Value key, rule.key_of(runtime, item));
    if (!is_hashable(key)) {
      return invalid_argument(str_cat("unique: a ", key.type_name(), " is not hashable"));
    }
    if (seen.insert(key).second) kept.push_back(item);
  }
  return runtime.make_generator(std::move(kept));
}

template <bool wants_max>
Result<Value> extreme_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound,
            bind(wants_max ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  const KeyRule rule = key_rule(bound, 0, 1);
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  if (items->items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  Value best = items->items.front();
  TVLLM_TRY(Value best_key, rule.key_of(runtime, best));
  for (std::size_t i = 1; i < items->items.size(); ++i) {
    TVLLM_TRY(Value key, rule.key_of(runtime, items->items[i]));
    TVLLM_TRY(const bool is_better, wants_max ? is_less(runtime.budget(), best_key, key)
                                              : is_less(runtime.budget(), key, best_key));
    if (!is_better) continue;
    best = items->items[i];
    best_key = std::move(key);
  }
  return best;
}

Result<Value> sum_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("sum", arguments, {"attribute", "start"}));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  Value total = bound.has(1) ? bound[1] : Value::integer(0);
  if (total.is(Kind::kString)) return invalid_argument("sum: strings are joined, not summed");
  for (const Value& item : items->items) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    Value term = item;
    if (bound.is_given(0)) {
      TVLLM_TRY(term, get_path(runtime, item, bound[0]));
    }
    TVLLM_TRY(total, apply_binary(runtime, BinaryOp::kAdd, total, term));
  }
  return total;
}

Result<Value> items_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("items", arguments, {}));
  if (subject.is(Kind::kUndefined)) return runtime.make_generator({});
  if (!subject.is(Kind::kDict)) {
    return invalid_argument("Can only get item pairs from a mapping.");
  }
  Arguments none;
  TVLLM_TRY(const Value pairs, find_method(subject, "items")->function(runtime, subject, none));
  return runtime.make_generator(pairs.as_sequence().items);
}

Result<Value> default_filter(Runtime& /*runtime*/, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("default", arguments, {"default_value", "boolean"}));
  const bool is_replaced =
      subject.is(Kind::kUndefined) || (bound.truth(1, false) && !is_truthy(subject));
  if (!is_replaced) return subject;
  return bound.has(0) ? bound[0] : Value::string("");
}

constexpr Builtin kFilters[] = {
    {"length", length_filter},   {"count", length_filter},       {"list", list_filter},
    {"first", first_filter},     {"last", last_filter},          {"join", join_filter},
    {"reverse", reverse_filter}, {"sort", sort_filter},          {"dictsort", dictsort_filter},
    {"unique", unique_filter},   {"min", extreme_filter<false>}, {"max", extreme_filter<true>},
    {"sum", sum_filter},         {"items", items_filter},        {"default", default_filter},
    {"d", default_filter},
};

}  // namespace

std::span<const Builtin> list_filters() {
  return kFilters;
}

}  // namespace tvllm::chat_template
