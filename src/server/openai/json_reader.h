// SPDX-License-Identifier: Apache-2.0
// Strict, typed reading of request bodies. Private to openai/: JSON stays behind this door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/ids.h"
#include "base/result.h"

namespace tvllm::server {

inline constexpr std::size_t kMaxJsonDepth = 64;

// A body as one JSON object: RFC 8259, UTF-8, nothing behind it, at most kMaxJsonDepth levels. The
// last of equal keys counts.
Result<boost::json::value> parse_json_object(std::string_view body);

// "a string", "a list": for sentences.
std::string_view kind_name(const boost::json::value& value);

// "messages[1].content must be a string, got a list"
Error wrong_type(const std::string& param, std::string_view expected,
                 const boost::json::value& found);

// The members of one JSON object, read into typed values. As pydantic does for vLLM: null is the
// same as absent, unknown members are ignored, 5.0 is an integer; unlike it, "5" and true are not
// numbers.
//
// The first error stays, later calls do nothing, and status() tells. Each error names the member as
// "messages[1].content". Thread-compatible; lives on the stack.
class JsonReader {
 public:
  // `path` is the object's own name, empty for the body. `object` outlives the reader.
  explicit JsonReader(const boost::json::object& object, std::string path = {})
      : object_(&object), path_(std::move(path)) {}

  // The member; nullptr if absent, null, or after an error.
  const boost::json::value* find(std::string_view name) const;
  std::string param(std::string_view name) const;

  void read(std::string_view name, bool& out);
  void read(std::string_view name, std::optional<bool>& out);
  void read(std::string_view name, std::optional<double>& out);  // finite
  void read(std::string_view name, std::optional<std::string>& out);
  void read(std::string_view name, std::string& out);
  // Whole numbers of at least `min`; what is above `max` is an error too.
  void read(std::string_view name, std::optional<std::int64_t>& out, std::int64_t min = INT64_MIN,
            std::int64_t max = INT64_MAX);
  void read_token_ids(std::string_view name, std::vector<TokenId>& out, std::size_t max_count);

  // An error if the member is there and says something: not null, false, 0, "", [] or {}.
  void refuse(std::string_view name, std::string_view why);

  void fail(Error error);
  bool failed() const { return !status_.has_value(); }
  Status status() const { return status_; }

 private:
  const boost::json::object* object_;
  std::string path_;
  Status status_;
};

// An integer as the reader takes it; nothing if it is none or beyond 64 bits.
std::optional<std::int64_t> as_integer(const boost::json::value& value);
// A finite number.
std::optional<double> as_number(const boost::json::value& value);

// A list of whole numbers that fit a TokenId; whether the vocabulary has them is checked later.
Result<std::vector<TokenId>> read_token_ids(const boost::json::value& value,
                                            const std::string& param);

}  // namespace tvllm::server
