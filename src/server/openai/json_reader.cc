// SPDX-License-Identifier: Apache-2.0
#include "server/openai/json_reader.h"

#include <cmath>
#include <exception>
#include <limits>

#include <boost/json.hpp>

#include "base/strings.h"

namespace tvllm::server {

namespace json = boost::json;

Result<json::value> parse_json_object(std::string_view body) {
  if (body.empty()) return invalid_argument("The request has no body; a JSON object was expected");
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::error_code error;
  try {
    json::value value = json::parse({body.data(), body.size()}, error, {}, options);
    if (error == json::error::too_deep) {
      return invalid_argument(
          str_cat("The request's JSON is nested deeper than ", kMaxJsonDepth, " levels"));
    }
    if (error) {
      return invalid_argument(str_cat("The request's body is not valid JSON: ", error.message()));
    }
    if (!value.is_object()) {
      return invalid_argument(
          str_cat("The request's body must be a JSON object, got ", kind_name(value)));
    }
    return value;
  } catch (const std::exception& e) {
    return invalid_argument(str_cat("The request's JSON cannot be read: ", e.what()));
  }
}

std::string_view kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "something else";
}

Error wrong_type(const std::string& param, std::string_view expected, const json::value& found) {
  return invalid_argument(str_cat(param, " must be ", expected, ", got ", kind_name(found)), param);
}

std::optional<std::int64_t> as_integer(const json::value& value) {
  if (const std::int64_t* integer = value.if_int64()) return *integer;
  if (const double* real = value.if_double()) {
    // Below 2^63 every whole double is a 64-bit integer.
    if (std::trunc(*real) == *real && std::fabs(*real) < 0x1.0p63) {
      return static_cast<std::int64_t>(*real);
    }
  }
  return std::nullopt;
}

std::optional<double> as_number(const json::value& value) {
  if (const std::int64_t* integer = value.if_int64()) return static_cast<double>(*integer);
  if (const std::uint64_t* integer = value.if_uint64()) return static_cast<double>(*integer);
  if (const double* real = value.if_double(); real != nullptr && std::isfinite(*real)) {
    return *real;
  }
  return std::nullopt;
}

const json::value* JsonReader::find(std::string_view name) const {
  if (failed()) return nullptr;
  const json::value* value = object_->if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string JsonReader::param(std::string_view name) const {
  return path_.empty() ? std::string(name) : str_cat(path_, ".", name);
}

void JsonReader::fail(Error error) {
  if (!failed()) status_ = Status(std::move(error));
}

void JsonReader::read(std::string_view name, std::optional<bool>& out) {
  const json::value* value = find(name);
  if (value == nullptr) return;
  if (!value->is_bool()) return fail(wrong_type(param(name), "a boolean", *value));
  out = value->get_bool();
}

void JsonReader::read(std::string_view name, bool& out) {
  std::optional<bool> value;
  read(name, value);
  if (value) out = *value;
}

void JsonReader::read(std::string_view name, std::optional<double>& out) {
  const json::value* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number()) return fail(wrong_type(param(name), "a number", *value));
  out = as_number(*value);
  // What reads numbers computes with floats.
  if (out && std::abs(*out) <= static_cast<double>(std::numeric_limits<float>::max())) return;
  fail(invalid_argument(str_cat(param(name), " must be a finite number within 3.4e38",
                                out ? str_cat(", got ", *out) : std::string()),
                        param(name)));
}

void JsonReader::read(std::string_view name, std::optional<std::string>& out) {
  const json::value* value = find(name);
  if (value == nullptr) return;
  const json::string* text = value->if_string();
  if (text == nullptr) return fail(wrong_type(param(name), "a string", *value));
  out = std::string(text->data(), text->size());
}

void JsonReader::read(std::string_view name, std::string& out) {
  std::optional<std::string> value;
  read(name, value);
  if (value) out = std::move(*value);
}

void JsonReader::read(std::string_view name, std::optional<std::int64_t>& out, std::int64_t min,
                      std::int64_t max) {
  const json::value* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number()) return fail(wrong_type(param(name), "an integer", *value));
  const std::optional<std::int64_t> integer = as_integer(*value);
  if (!integer) {
    return fail(invalid_argument(str_cat(param(name), " must be an integer of at most 64 bits"),
                                 param(name)));
  }
  if (*integer < min) {
    return fail(invalid_argument(
        str_cat(param(name), " must be at least ", min, ", got ", *integer), param(name)));
  }
  if (*integer > max) {
    return fail(invalid_argument(str_cat(param(name), " must be at most ", max, ", got ", *integer),
                                 param(name)));
  }
  out = integer;
}

void JsonReader::read_token_ids(std::string_view name, std::vector<TokenId>& out,
                                std::size_t max_count) {
  const json::value* value = find(name);
  if (value == nullptr) return;
  auto ids = server::read_token_ids(*value, param(name));
  if (!ids) return fail(std::move(ids).error());
  if (ids->size() > max_count) {
    return fail(invalid_argument(
        str_cat(param(name), " has ", ids->size(), " entries, more than ", max_count),
        param(name)));
  }
  out = std::move(*ids);
}

namespace {
bool says_nothing(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return true;
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return as_number(value) == 0.0;
    case json::kind::string:
      return value.get_string().empty();
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty();
  }
  return false;
}
}  // namespace

void JsonReader::refuse(std::string_view name, std::string_view why) {
  const json::value* value = find(name);
  if (value == nullptr || says_nothing(*value)) return;
  fail(make_error(ErrorCode::kUnsupported, str_cat(param(name), " ", why), param(name)));
}

Result<std::vector<TokenId>> read_token_ids(const json::value& value, const std::string& param) {
  const json::array* items = value.if_array();
  if (items == nullptr) return wrong_type(param, "a list of token ids", value);
  std::vector<TokenId> ids;
  ids.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    const json::value& item = (*items)[i];
    if (!item.is_number()) {
      return invalid_argument(str_cat(param, "[", i, "] must be a token id, got ", kind_name(item)),
                              param);
    }
    const std::optional<std::int64_t> id = as_integer(item);
    if (!id || *id < std::numeric_limits<TokenId>::min() ||
        *id > std::numeric_limits<TokenId>::max()) {
      return invalid_argument(str_cat(param, "[", i, "] is not a token id"), param);
    }
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

}  // namespace tvllm::server
