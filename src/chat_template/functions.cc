// SPDX-License-Identifier: Apache-2.0
#include "chat_template/functions.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

#include "base/strings.h"
#include "chat_template/access.h"
#include "chat_template/methods.h"
#include "chat_template/python_text.h"
#include "chat_template/runtime.h"

namespace tvllm::chat_template {

namespace {

struct RangeBounds {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
};

Result<RangeBounds> read_range(const Arguments& arguments) {
  const std::size_t count = arguments.positional.size();
  if (count < 1 || count > 3 || !arguments.named.empty()) {
    return invalid_argument("range() takes 1 to 3 arguments by place");
  }
  std::array<std::int64_t, 3> numbers = {0, 0, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const Value& argument = arguments.positional[i];
    const std::optional<std::int64_t> number = as_index(argument);
    if (argument.is(Kind::kUndefined)) return invalid_argument(argument.undefined_reason());
    if (!number) {
      return invalid_argument(str_cat("range() needs integers, found ", argument.type_name()));
    }
    numbers[i] = *number;
  }
  if (numbers[2] == 0) return invalid_argument("range(): the step must not be zero");
  if (count == 1) return RangeBounds{0, numbers[0], 1};
  return RangeBounds{numbers[0], numbers[1], numbers[2]};
}

// How many numbers a range has; in unsigned arithmetic, for the bounds may be at the ends.
std::uint64_t count_of(const RangeBounds& range) {
  const auto as_unsigned = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  if (range.step > 0) {
    if (range.start >= range.stop) return 0;
    return (as_unsigned(range.stop) - as_unsigned(range.start) - 1) / as_unsigned(range.step) + 1;
  }
  if (range.start <= range.stop) return 0;
  return (as_unsigned(range.start) - as_unsigned(range.stop) - 1) /
             (std::uint64_t{0} - as_unsigned(range.step)) +
         1;
}

Result<Value> range_function(Runtime& runtime, const Value& /*self*/, Arguments& arguments) {
  TVLLM_TRY(const RangeBounds range, read_range(arguments));
  const std::uint64_t count = count_of(range);
  if (count > static_cast<std::uint64_t>(kMaxRangeItems)) {
    return invalid_argument(str_cat("range() is limited to ", kMaxRangeItems, " items"));
  }
  TVLLM_RETURN_IF_ERROR(runtime.budget().spend_items(static_cast<std::size_t>(count)));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(count));
  std::int64_t number = range.start;
  for (std::uint64_t i = 0; i < count; ++i) {
    items.push_back(Value::integer(number));
    if (i + 1 < count) number += range.step;
  }
  auto sequence = std::make_shared<Sequence>(SequenceType::kRange, std::move(items));
  sequence->range = {range.start, range.stop, range.step};
  return Value::sequence(std::move(sequence));
}

// The members that dict(x, a=1) and namespace(x, a=1) begin with.
Result<std::vector<Member>> read_members(Runtime& runtime, Arguments& arguments) {
  std::vector<Member> members;
  if (arguments.positional.size() > 1) {
    return invalid_argument("expected at most 1 argument by place");
  }
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::kDict)) {
      members = source.as_dict().members();
    } else {
      TVLLM_TRY(const SequencePtr pairs, iterate(runtime, source));
      for (const Value& item : pairs->items) {
        TVLLM_TRY(const SequencePtr pair, iterate(runtime, item));
        if (pair->items.size() != 2) return invalid_argument("a dict is made of pairs");
        members.push_back({pair->items[0], pair->items[1]});
      }
    }
  }
  for (auto& argument : arguments.named) {
    members.push_back({Value::text(argument.first), std::move(argument.second)});
  }
  return members;
}

Result<Value> dict_function(Runtime& runtime, const Value& /*self*/, Arguments& arguments) {
  TVLLM_TRY(std::vector<Member> members, read_members(runtime, arguments));
  return runtime.make_dict(std::move(members));
}

Result<Value> namespace_function(Runtime& runtime, const Value& /*self*/, Arguments& arguments) {
  TVLLM_TRY(std::vector<Member> members, read_members(runtime, arguments));
  auto& space = runtime.make<Namespace>();
  for (Member& member : members) {
    TVLLM_RETURN_IF_ERROR(runtime.budget().spend(1 + space.attributes.size() / 8));
    if (!member.key.is(Kind::kString)) {
      return invalid_argument("the names of a namespace must be str");
    }
    space.set(member.key.as_text(), std::move(member.value));
  }
  return Value::object(&space);
}

Result<Value> cycler_function(Runtime& runtime, const Value& /*self*/, Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    return invalid_argument("cycler() needs at least one item");
  }
  auto& cycler = runtime.make<Cycler>();
  cycler.items = std::move(arguments.positional);
  return Value::object(&cycler);
}

Result<Value> joiner_function(Runtime& runtime, const Value& /*self*/, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("joiner()", arguments, {"sep"}));
  TVLLM_TRY(Text separator, bound.text(0, ", "));
  auto& joiner = runtime.make<Joiner>();
  joiner.separator = std::move(separator);
  return Value::object(&joiner);
}

Result<Value> raise_exception_function(Runtime& runtime, const Value& /*self*/,
                                       Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("raise_exception()", arguments, {"message"}, 1));
  TVLLM_TRY(Text message, to_text(runtime.budget(), bound[0]));
  return invalid_argument(std::move(message).take_bytes());
}

// One conversion of a strftime format; a longer one is not there.
std::string format_time(const std::string& conversion, const std::tm& time) {
  if (conversion == "%f") return "000000";  // the clock has whole seconds
  std::array<char, 128> buffer{};
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), conversion.c_str(), &time);
  return std::string(buffer.data(), size);
}

Result<Value> strftime_now_function(Runtime& runtime, const Value& /*self*/, Arguments& arguments) {
  TVLLM_TRY(const Bound bound, bind("strftime_now()", arguments, {"format"}, 1));
  TVLLM_TRY(const Text format, bound.text(0, ""));
  const std::tm time = runtime.local_time();
  constexpr std::string_view kConversions = "aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZf%";
  constexpr std::string_view kFlags = "-_0^#";
  Text out;
  TextSink sink(runtime.budget(), out);
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t percent = std::min(format.bytes().find('%', at), format.size());
    TVLLM_RETURN_IF_ERROR(sink.append(format, at, percent));
    if (percent == format.size()) break;
    std::size_t end = percent + 1;
    if (end < format.size() && kFlags.find(format.bytes()[end]) != std::string_view::npos) ++end;
    if (end == format.size() || kConversions.find(format.bytes()[end]) == std::string_view::npos) {
      return invalid_argument(str_cat("strftime_now(): unknown conversion ",
                                      quoted(format.bytes().substr(percent, end + 1 - percent))));
    }
    const std::string conversion = format.bytes().substr(percent, end + 1 - percent);
    TVLLM_RETURN_IF_ERROR(
        sink.append_made_from(format_time(conversion, time), format, percent, end + 1));
    at = end + 1;
  }
  return Value::text(std::move(out));
}

constexpr Builtin kFunctions[] = {
    {"range", range_function},
    {"dict", dict_function},
    {"namespace", namespace_function},
    {"cycler", cycler_function},
    {"joiner", joiner_function},
    {"raise_exception", raise_exception_function},
    {"strftime_now", strftime_now_function},
};

}  // namespace

const Builtin* find_function(std::string_view name) {
  return find_entry(kFunctions, name);
}

bool is_raise_exception(const Builtin& function) {
  return function.function == raise_exception_function;
}

}  // namespace tvllm::chat_template
