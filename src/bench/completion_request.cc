// SPDX-License-Identifier: Apache-2.0
#include "bench/completion_request.h"

#include <cmath>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/strings.h"

namespace tvllm::bench {

namespace {

Result<boost::json::object> parse_extra_body(std::string_view text) {
  if (text.empty()) return boost::json::object();
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  if (error || !value.is_object()) {
    return invalid_argument(str_cat("--extra-body must be a JSON object, got ", quoted(text)),
                            "extra-body");
  }
  return std::move(value.get_object());
}

// Servers refuse 40.0 where a count belongs.
boost::json::value number(double value) {
  constexpr double kExact = 1e15;
  if (std::abs(value) < kExact && value == std::trunc(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

}  // namespace

Result<std::vector<std::string>> completion_bodies(const CompletionOptions& options,
                                                   const std::vector<BenchPrompt>& prompts) {
  TVLLM_TRY(const boost::json::object extra, parse_extra_body(options.extra_body));
  std::vector<std::string> bodies;
  for (const BenchPrompt& prompt : prompts) {
    boost::json::object body{{"model", options.model}};
    if (options.is_chat) {
      body["messages"] =
          boost::json::array{boost::json::object{{"role", "user"}, {"content", prompt.text}}};
      body["max_completion_tokens"] = prompt.num_output_tokens;
    } else {
      body["prompt"] = prompt.text;
      body["max_tokens"] = prompt.num_output_tokens;
      if (options.logprobs) body["logprobs"] = *options.logprobs;
    }
    body["stream"] = true;
    body["stream_options"] = boost::json::object{{"include_usage", true}};
    if (options.ignore_eos) body["ignore_eos"] = true;
    for (const auto& [name, value] : options.sampling)
      body[name] = number(value);
    for (const auto& [name, value] : extra)
      body[name] = value;
    bodies.push_back(boost::json::serialize(body));
  }
  return bodies;
}

std::optional<std::string> first_model_id(std::string_view body) {
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse(body, error);
  const boost::json::object* const object = error ? nullptr : root.if_object();
  const boost::json::value* const data = object == nullptr ? nullptr : object->if_contains("data");
  if (data == nullptr || !data->is_array() || data->get_array().empty()) return std::nullopt;
  const boost::json::object* const model = data->get_array().front().if_object();
  const boost::json::value* const id = model == nullptr ? nullptr : model->if_contains("id");
  if (id == nullptr || !id->is_string()) return std::nullopt;
  return std::string(id->get_string());
}

}  // namespace tvllm::bench
