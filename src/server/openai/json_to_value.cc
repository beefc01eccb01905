// SPDX-License-Identifier: Apache-2.0
#include "server/openai/json_to_value.h"

#include <optional>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/strings.h"
#include "server/openai/json_reader.h"

namespace tvllm::server {

namespace json = boost::json;
using chat_template::Text;
using chat_template::Value;

// Recursion is bounded: the parser lets no more than kMaxJsonDepth levels through.
Result<Value> json_to_value(const json::value& source, const std::string& param) {
  switch (source.kind()) {
    case json::kind::null:
      return Value::none();
    case json::kind::bool_:
      return Value::boolean(source.get_bool());
    case json::kind::int64:
      return Value::integer(source.get_int64());
    case json::kind::uint64:
    case json::kind::double_: {
      const std::optional<double> number = as_number(source);
      if (!number)
        return invalid_argument(str_cat(param, " holds a number that is too large"), param);
      return Value::real(*number);
    }
    case json::kind::string:
      return Value::input_string(
          std::string(source.get_string().data(), source.get_string().size()));
    case json::kind::array: {
      std::vector<Value> items;
      items.reserve(source.get_array().size());
      for (const json::value& item : source.get_array()) {
        TVLLM_TRY(Value value, json_to_value(item, param));
        items.push_back(std::move(value));
      }
      return Value::list(std::move(items));
    }
    case json::kind::object: {
      std::vector<std::pair<Text, Value>> members;
      members.reserve(source.get_object().size());
      for (const json::key_value_pair& member : source.get_object()) {
        TVLLM_TRY(Value value, json_to_value(member.value(), param));
        members.emplace_back(Text::input(std::string(member.key().data(), member.key().size())),
                             std::move(value));
      }
      return Value::dict(std::move(members));
    }
  }
  return make_error(ErrorCode::kInternal, "unknown kind of JSON value");
}

}  // namespace tvllm::server
