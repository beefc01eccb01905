// SPDX-License-Identifier: Apache-2.0
// Filters that apply another filter or test to each item, or cut a list into lists.
#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/filters.h"
#include "chat_template/methods.h"
#include "chat_template/operators.h"
#include "chat_template/predicates.h"
#include "chat_template/runtime.h"

namespace tvllm::chat_template {

namespace {

// Takes the first argument away, which must be a name.
Result<std::string> take_name(std::string_view filter, Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.positional[0].is(Kind::kString)) {
    return invalid_argument(str_cat(filter, " needs a name as its first argument"));
  }
  std::string name = arguments.positional[0].as_text().bytes();
  arguments.positional.erase(arguments.positional.begin());
  return name;
}

// Each application gets its own arguments, for it may consume them.
Result<Arguments> copy_arguments(Runtime& runtime, const Arguments& arguments) {
  TVLLM_RETURN_IF_ERROR(
      runtime.budget().spend(1 + arguments.positional.size() + arguments.named.size()));
  return arguments;
}

Result<Value> map_attribute(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("map", arguments, {"attribute", "default"}, 1));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  std::vector<Value> mapped;
  for (const Value& item : items->items) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    TVLLM_TRY(Value value, get_path(runtime, item, bound[0]));
    if (value.is(Kind::kUndefined) && bound.is_given(1)) value = bound[1];
    mapped.push_back(std::move(value));
  }
  return runtime.make_generator(std::move(mapped));
}

Result<Value> map_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  if (arguments.positional.empty() && !arguments.named.empty()) {
    return map_attribute(runtime, subject, arguments);
  }
  // A filter of filters may name itself, as often as it has arguments.
  const Runtime::Nested nested(runtime);
  TVLLM_RETURN_IF_ERROR(nested.check());
  TVLLM_TRY(const std::string name, take_name("map", arguments));
  const Builtin* filter = find_filter(name);
  if (filter == nullptr) return invalid_argument(str_cat("no filter named ", quoted(name, 40)));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  std::vector<Value> mapped;
  for (const Value& item : items->items) {
    TVLLM_TRY(Arguments own, copy_arguments(runtime, arguments));
    TVLLM_TRY(Value value, filter->function(runtime, item, own));
    mapped.push_back(std::move(value));
  }
  return runtime.make_generator(std::move(mapped));
}

struct Selection {
  std::optional<Value> attribute;             // test this of an item, or the item
  const PredicateEntry* predicate = nullptr;  // nullptr: its truth
  Arguments arguments;
};

Result<Selection> read_selection(std::string_view filter, bool by_attribute, Arguments& arguments) {
  Selection selection;
  if (by_attribute) {
    if (arguments.positional.empty()) {
      return invalid_argument(str_cat(filter, " needs the name of an attribute"));
    }
    selection.attribute = std::move(arguments.positional[0]);
    arguments.positional.erase(arguments.positional.begin());
  }
  if (arguments.positional.empty()) return selection;
  TVLLM_TRY(const std::string name, take_name(filter, arguments));
  selection.predicate = find_predicate(name);
  if (selection.predicate == nullptr) {
    return invalid_argument(str_cat("no test named ", quoted(name, 40)));
  }
  selection.arguments = std::move(arguments);
  return selection;
}

Result<bool> is_selected(Runtime& runtime, const Selection& selection, const Value& item) {
  Value tested = item;
  if (selection.attribute) {
    TVLLM_TRY(tested, get_path(runtime, item, *selection.attribute));
  }
  if (selection.predicate == nullptr) return is_truthy(tested);
  TVLLM_TRY(Arguments own, copy_arguments(runtime, selection.arguments));
  return selection.predicate->function(runtime, tested, own);
}

template <bool by_attribute, bool wanted>
Result<Value> select_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  constexpr std::string_view kName =
      by_attribute ? (wanted ? "selectattr" : "rejectattr") : (wanted ? "select" : "reject");
  TVLLM_TRY(const Selection selection, read_selection(kName, by_attribute, arguments));
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  std::vector<Value> kept;
  for (const Value& item : items->items) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    TVLLM_TRY(const bool selected, is_selected(runtime, selection, item));
    if (selected == wanted) kept.push_back(item);
  }
  return runtime.make_generator(std::move(kept));
}

// Rows of `linecount` items, the last one filled up.
Result<Value> batch_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("batch", arguments, {"linecount", "fill_with"}, 1));
  TVLLM_TRY(const std::int64_t line_count, bound.integer(0, 0));
  if (line_count < 1) return invalid_argument("batch: 'linecount' must be positive");
  const auto row_size = static_cast<std::size_t>(line_count);
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  std::vector<Value> rows;
  std::vector<Value> row;
  const std::size_t count = items->items.size();
  for (std::size_t i = 0; i < count; ++i) {
    row.push_back(items->items[i]);
    if (row.size() < row_size && i + 1 < count) continue;
    if (bound.is_given(1) && row.size() < row_size) {
      TVLLM_RETURN_IF_ERROR(runtime.budget().spend(row_size - row.size()));
      row.resize(row_size, bound[1]);
    }
    TVLLM_TRY(Value list, runtime.make_list(std::exchange(row, {})));
    rows.push_back(std::move(list));
  }
  return runtime.make_generator(std::move(rows));
}

// `slices` lists of nearly equal length.
Result<Value> slice_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("slice", arguments, {"slices", "fill_with"}, 1));
  TVLLM_TRY(const std::int64_t slices, bound.integer(0, 0));
  if (slices < 1) return invalid_argument("slice: 'slices' must be positive");
  TVLLM_TRY(const SequencePtr items, iterate(runtime, subject));
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend(static_cast<std::uint64_t>(slices)));
  const auto num_slices = static_cast<std::size_t>(slices);
  const std::size_t size = items->items.size() / num_slices;
  const std::size_t num_longer = items->items.size() % num_slices;
  std::vector<Value> lists;
  auto begin = items->items.begin();
  for (std::size_t i = 0; i < num_slices; ++i) {
    const auto end = begin + static_cast<std::ptrdiff_t>(size + (i < num_longer ? 1 : 0));
    std::vector<Value> part(begin, end);
    if (bound.is_given(1) && i >= num_longer) part.push_back(bound[1]);
    TVLLM_TRY(Value list, runtime.make_list(std::move(part)));
    lists.push_back(std::move(list));
    begin = end;
  }
  return runtime.make_generator(std::move(lists));
}

// Like value.name, but never a member of a dict.
Result<Value> attr_filter(Runtime& runtime, const Value& subject, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("attr", arguments, {"name"}, 1));
  TVLLM_TRY(const Text name, bound.text(0, ""));
  if (subject.is(Kind::kDict) && find_method(subject, name.bytes()) == nullptr) {
    return Value::undefined(str_cat("'dict object' has no attribute ", quoted(name.bytes())));
  }
  return get_attribute(runtime, subject, name.bytes());
}

constexpr Builtin kFilters[] = {
    {"map", map_filter},
    {"select", select_filter<false, true>},
    {"reject", select_filter<false, false>},
    {"selectattr", select_filter<true, true>},
    {"rejectattr", select_filter<true, false>},
    {"batch", batch_filter},
    {"slice", slice_filter},
    {"attr", attr_filter},
};

}  // namespace

std::span<const Builtin> selection_filters() {
  return kFilters;
}

}  // namespace tvllm::chat_template
