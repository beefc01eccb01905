// SPDX-License-Identifier: Apache-2.0
#include "chat_template/access.h"

#include <algorithm>

#include "base/strings.h"
#include "chat_template/methods.h"
#include "chat_template/search.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

// Jinja's way to call a value in "... has no attribute ...".
std::string describe(const Value& value) {
  if (value.is(Kind::kNone)) return "'None'";
  return str_cat("'", value.type_name(), " object'");
}

Value missing(const Value& value, std::string_view name) {
  return Value::undefined(str_cat(describe(value), " has no attribute ", quoted(name)));
}

Result<SequencePtr> characters_of(Runtime& runtime, const Text& text) {
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend(text.size()));
  std::vector<Value> items;
  for (std::size_t at = 0; at < text.size();) {
    const Char c = char_at(text.bytes(), at);
    items.push_back(Value::text(text.slice(c.begin, c.end)));
    at = c.end;
  }
  return SequencePtr(std::make_shared<const Sequence>(SequenceType::kList, std::move(items)));
}

Result<SequencePtr> keys_of(Runtime& runtime, const Dict& dict) {
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(dict.members().size()));
  std::vector<Value> items;
  items.reserve(dict.members().size());
  for (const Member& member : dict.members())
    items.push_back(member.key);
  return SequencePtr(std::make_shared<const Sequence>(SequenceType::kList, std::move(items)));
}

Result<SequencePtr> rest_of(Runtime& runtime, Generator& generator) {
  const std::size_t first = std::exchange(generator.next, generator.items->items.size());
  if (first == 0) return generator.items;
  const std::vector<Value>& items = generator.items->items;
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(items.size() - first));
  return SequencePtr(std::make_shared<const Sequence>(
      SequenceType::kList,
      std::vector<Value>(items.begin() + static_cast<std::ptrdiff_t>(first), items.end())));
}

Result<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const auto number = [](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
  const std::size_t length = loop.items->items.size();
  if (name == "index") return number(loop.index0 + 1);
  if (name == "index0") return number(loop.index0);
  if (name == "revindex") return number(length - loop.index0);
  if (name == "revindex0") return number(length - loop.index0 - 1);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(loop.index0 + 1 == length);
  if (name == "length") return number(length);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "previtem") {
    if (loop.index0 == 0) return Value::undefined("there is no previous item");
    return loop.items->items[loop.index0 - 1];
  }
  if (name == "nextitem") {
    if (loop.index0 + 1 == length) return Value::undefined("there is no next item");
    return loop.items->items[loop.index0 + 1];
  }
  return Value::undefined(str_cat("'LoopContext object' has no attribute ", quoted(name)));
}

// An attribute that is no method and no member of a dict.
Result<Value> object_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (auto* space = object_as<Namespace>(value, ObjectType::kNamespace)) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(space->attributes.size() / 8));
    const Value* found = space->find(name);
    return found != nullptr ? *found : missing(value, name);
  }
  if (const auto* loop = object_as<Loop>(value, ObjectType::kLoop)) {
    return loop_attribute(*loop, name);
  }
  const auto* cycler = object_as<Cycler>(value, ObjectType::kCycler);
  if (cycler != nullptr && name == "current") return cycler->items[cycler->next];
  const auto* macro = object_as<Macro>(value, ObjectType::kMacro);
  if (macro != nullptr && name == "name") return macro_name(*macro);
  return missing(value, name);
}

struct SliceIndices {
  std::int64_t start;
  std::int64_t count;
  std::int64_t step;
};

// slice.indices() of Python: bounds that may be negative or far out.
Result<SliceIndices> resolve(const SliceBounds& bounds, std::int64_t length) {
  const std::int64_t step = bounds.step.value_or(1);
  if (step == 0) return invalid_argument("slice step cannot be zero");
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? length : length - 1;
  const auto clamp = [=](std::optional<std::int64_t> bound, std::int64_t otherwise) {
    if (!bound) return otherwise;
    const std::int64_t at = *bound < 0 ? *bound + length : *bound;
    return std::clamp(at, lowest, highest);
  };
  const std::int64_t start = clamp(bounds.start, step > 0 ? lowest : highest);
  const std::int64_t stop = clamp(bounds.stop, step > 0 ? highest : lowest);
  std::int64_t count = 0;
  // Unsigned, because -step of the least integer does not fit.
  if (step > 0 && start < stop) {
    count = (stop - start - 1) / step + 1;
  } else if (step < 0 && stop < start) {
    const std::uint64_t stride = std::uint64_t{0} - static_cast<std::uint64_t>(step);
    count = static_cast<std::int64_t>(static_cast<std::uint64_t>(start - stop - 1) / stride) + 1;
  }
  return SliceIndices{start, count, step};
}

// start + i * step, which does not overflow for i < count.
std::size_t place(const SliceIndices& slice, std::int64_t i) {
  return static_cast<std::size_t>(slice.start + (i == 0 ? 0 : i * slice.step));
}

Result<Value> slice_text(Runtime& runtime, const Text& text, const SliceBounds& bounds) {
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_text(text.size()));
  const CharIndex index(text.bytes());
  TVLLM_TRY(const SliceIndices slice,
            resolve(bounds, static_cast<std::int64_t>(index.num_chars())));
  Text part;
  if (slice.step == 1 && slice.count > 0) {
    part.append(text, index.byte_of(place(slice, 0)),
                index.byte_of(place(slice, 0) + static_cast<std::size_t>(slice.count)));
  } else {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(static_cast<std::uint64_t>(slice.count) / 16));
    for (std::int64_t i = 0; i < slice.count; ++i) {
      const std::size_t at = place(slice, i);
      part.append(text, index.byte_of(at), index.byte_of(at + 1));
    }
  }
  return Value::text(std::move(part));
}

Result<Value> slice_sequence(Runtime& runtime, const Sequence& sequence,
                             const SliceBounds& bounds) {
  TVLLM_TRY(const SliceIndices slice,
            resolve(bounds, static_cast<std::int64_t>(sequence.items.size())));
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(static_cast<std::size_t>(slice.count)));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(slice.count));
  for (std::int64_t i = 0; i < slice.count; ++i)
    items.push_back(sequence.items[place(slice, i)]);
  // The part of a range becomes a list: it goes through the same numbers.
  return runtime.make_sequence(
      sequence.type == SequenceType::kTuple ? SequenceType::kTuple : SequenceType::kList,
      std::move(items));
}

bool is_indexable(const Sequence& sequence) {
  return sequence.type == SequenceType::kList || sequence.type == SequenceType::kTuple ||
         sequence.type == SequenceType::kRange;
}

// value[i] by place, or nullopt if there is no such place.
Result<std::optional<Value>> item_at(Runtime& runtime, const Value& value, std::int64_t i) {
  if (value.is(Kind::kString)) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(value.as_text().size()));
    const CharIndex index(value.as_text().bytes());
    const auto count = static_cast<std::int64_t>(index.num_chars());
    if (i < -count || i >= count) return std::optional<Value>();
    const auto at = static_cast<std::size_t>(i < 0 ? i + count : i);
    return std::optional<Value>(
        Value::text(value.as_text().slice(index.byte_of(at), index.byte_of(at + 1))));
  }
  if (!value.is(Kind::kSequence) || !is_indexable(value.as_sequence())) {
    return std::optional<Value>();
  }
  const std::vector<Value>& items = value.as_sequence().items;
  const auto count = static_cast<std::int64_t>(items.size());
  if (i < -count || i >= count) return std::optional<Value>();
  return std::optional<Value>(items[static_cast<std::size_t>(i < 0 ? i + count : i)]);
}

}  // namespace

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kSequence:
    case Kind::kDict:
      return true;
    case Kind::kObject:
      return value.as_object().type == ObjectType::kGenerator;
    default:
      return false;
  }
}

Result<SequencePtr> iterate(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kSequence)) return value.sequence_ptr();
  if (value.is(Kind::kString)) return characters_of(runtime, value.as_text());
  if (value.is(Kind::kDict)) return keys_of(runtime, value.as_dict());
  if (value.is(Kind::kUndefined)) {
    return SequencePtr(std::make_shared<const Sequence>(SequenceType::kList, std::vector<Value>()));
  }
  if (auto* generator = object_as<Generator>(value, ObjectType::kGenerator)) {
    return rest_of(runtime, *generator);
  }
  return invalid_argument(str_cat("'", value.type_name(), "' object is not iterable"));
}

Result<std::int64_t> length_of(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return std::int64_t{0};
    case Kind::kString:
      TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(value.as_text().size()));
      return static_cast<std::int64_t>(count_chars(value.as_text().bytes()));
    case Kind::kSequence:
      return static_cast<std::int64_t>(value.as_sequence().items.size());
    case Kind::kDict:
      return static_cast<std::int64_t>(value.as_dict().members().size());
    default:
      break;
  }
  if (const auto* loop = object_as<Loop>(value, ObjectType::kLoop)) {
    return static_cast<std::int64_t>(loop->items->items.size());
  }
  return invalid_argument(str_cat("object of type '", value.type_name(), "' has no len()"));
}

Result<Value> get_attribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.is(Kind::kUndefined)) return invalid_argument(value.undefined_reason());
  if (is_forbidden_method(value, name)) {
    return Value::undefined(
        str_cat("access to attribute ", quoted(name), " of ", describe(value), " is unsafe"));
  }
  if (const Builtin* method = find_method(value, name)) {
    return Value::object(&runtime.make<Method>(value, method));
  }
  if (value.is(Kind::kDict)) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(name.size()));
    const Value* found = value.as_dict().find(name);
    return found != nullptr ? *found : missing(value, name);
  }
  return object_attribute(runtime, value, name);
}

Result<Value> get_item(Runtime& runtime, const Value& value, const Value& index) {
  if (value.is(Kind::kUndefined)) return invalid_argument(value.undefined_reason());
  if (value.is(Kind::kDict) && is_hashable(index)) {
    TVLLM_TRY(const Value* found, runtime.look_up(value.as_dict(), index));
    if (found != nullptr) return *found;
  } else if (const std::optional<std::int64_t> i = as_index(index)) {
    TVLLM_TRY(std::optional<Value> item, item_at(runtime, value, *i));
    if (item) return *std::move(item);
  }
  if (index.is(Kind::kString)) return get_attribute(runtime, value, index.as_text().bytes());
  if (const std::optional<std::int64_t> i = as_index(index)) {
    return Value::undefined(str_cat(describe(value), " has no element ", *i));
  }
  return Value::undefined(str_cat(describe(value), " has no such element"));
}

Result<Value> get_slice(Runtime& runtime, const Value& value, const SliceBounds& bounds) {
  if (value.is(Kind::kUndefined)) return invalid_argument(value.undefined_reason());
  if (value.is(Kind::kString)) return slice_text(runtime, value.as_text(), bounds);
  if (value.is(Kind::kSequence) && is_indexable(value.as_sequence())) {
    return slice_sequence(runtime, value.as_sequence(), bounds);
  }
  return invalid_argument(str_cat("a '", value.type_name(), "' object cannot be sliced"));
}

Result<Value> get_path(Runtime& runtime, const Value& value, const Value& path) {
  if (!path.is(Kind::kString)) return get_item(runtime, value, path);
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_bytes(path.as_text().size()));
  Value inner = value;
  for (const std::string_view part : split(path.as_text().bytes(), '.')) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1));
    const bool is_number = !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
      return c >= '0' && c <= '9';
    });
    const std::optional<std::int64_t> number = parse_int64(part);
    if (is_number && !number) return invalid_argument("an index is out of range");
    const Value key = is_number ? Value::integer(*number) : Value::string(std::string(part));
    TVLLM_TRY(inner, get_item(runtime, inner, key));
  }
  return inner;
}

}  // namespace tvllm::chat_template
