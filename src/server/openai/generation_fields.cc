// SPDX-License-Identifier: Apache-2.0
#include "server/openai/generation_fields.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>

#include <boost/json.hpp>

#include "base/strings.h"
#include "output/stop_matcher.h"
#include "server/openai/json_reader.h"
#include "server/request_id.h"

namespace tvllm::server {

namespace json = boost::json;

namespace {

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxCacheSaltBytes = 1024;

void read_sampling(JsonReader& reader, const RequestLimits& limits, GenerationFields& fields) {
  reader.read("temperature", fields.temperature);
  reader.read("top_p", fields.top_p);
  reader.read("top_k", fields.top_k);
  reader.read("min_p", fields.min_p);
  reader.read("presence_penalty", fields.presence_penalty);
  reader.read("frequency_penalty", fields.frequency_penalty);
  reader.read("repetition_penalty", fields.repetition_penalty);
  reader.read("seed", fields.seed);
  std::optional<std::int64_t> n;
  reader.read("n", n, 1, limits.max_n);
  fields.n = n.value_or(1);
  // What would sample more choices than it returns, in either kind of request.
  std::optional<std::int64_t> best_of;
  reader.read("best_of", best_of);
  if (best_of && *best_of != fields.n) {
    reader.fail(invalid_argument(
        str_cat("best_of must be equal to n (", fields.n, "), got ", *best_of), "best_of"));
  }
}

// {"50256": -100}: keys are token ids in decimal. Equal ids count once, the last one.
void read_logit_bias(JsonReader& reader, const RequestLimits& limits, GenerationFields& fields) {
  constexpr std::string_view kName = "logit_bias";
  const json::value* value = reader.find(kName);
  if (value == nullptr) return;
  const json::object* entries = value->if_object();
  if (entries == nullptr) {
    return reader.fail(wrong_type("logit_bias", "an object of token ids and numbers", *value));
  }
  const auto fail = [&](std::string sentence) {
    reader.fail(invalid_argument(std::move(sentence), std::string(kName)));
  };
  if (entries->size() > limits.max_logit_bias) {
    return fail(
        str_cat("logit_bias has ", entries->size(), " entries, more than ", limits.max_logit_bias));
  }
  std::unordered_map<TokenId, std::size_t> index_of;
  for (const json::key_value_pair& entry : *entries) {
    const std::string_view key(entry.key().data(), entry.key().size());
    const std::optional<std::int64_t> id = parse_int64(key);
    if (!id || *id < 0 || *id > kMaxInt32) {
      return fail(str_cat("logit_bias has the key ", quoted(key), ", which is no token id"));
    }
    const std::optional<double> bias = as_number(entry.value());
    if (!bias) {
      return fail(str_cat("logit_bias of token ", *id, " must be a finite number, got ",
                          kind_name(entry.value())));
    }
    const auto token = static_cast<TokenId>(*id);
    const auto value_of = static_cast<float>(std::clamp(*bias, -100.0, 100.0));
    const auto [found, is_new] = index_of.try_emplace(token, fields.logit_bias.size());
    if (is_new) {
      fields.logit_bias.emplace_back(token, value_of);
    } else {
      fields.logit_bias[found->second].second = value_of;
    }
  }
}

// A string or a list of strings.
void read_stop(JsonReader& reader, GenerationFields& fields) {
  const json::value* value = reader.find("stop");
  if (value == nullptr) return;
  const auto add = [&](const json::value& item) {
    const json::string* text = item.if_string();
    if (text == nullptr) {
      return reader.fail(wrong_type("stop", "a string or a list of strings", item));
    }
    fields.stop.emplace_back(text->data(), text->size());
  };
  if (const json::array* items = value->if_array()) {
    for (const json::value& item : *items)
      add(item);
  } else {
    add(*value);
  }
  if (Status status = output::check_stop_strings(fields.stop); !status) {
    reader.fail(std::move(status).error());
  }
}

void read_ending(JsonReader& reader, const RequestLimits& limits, GenerationFields& fields) {
  reader.read("max_tokens", fields.max_tokens, 0);
  reader.read("min_tokens", fields.min_tokens, 0);
  reader.read("ignore_eos", fields.ignore_eos);
  read_stop(reader, fields);
  reader.read_token_ids("stop_token_ids", fields.stop_token_ids, limits.max_stop_token_ids);
  reader.read("include_stop_str_in_output", fields.include_stop_str_in_output);
  reader.read("skip_special_tokens", fields.skip_special_tokens);
}

void read_answer_form(JsonReader& reader, GenerationFields& fields) {
  reader.read("stream", fields.stream);
  reader.read("prompt_logprobs", fields.num_prompt_logprobs, kAllLogprobs);
  reader.read("echo", fields.echo);
  reader.read("return_tokens_as_token_ids", fields.return_tokens_as_token_ids);
  reader.read("return_token_ids", fields.return_token_ids);
  if (fields.num_prompt_logprobs && fields.stream) {
    reader.fail(invalid_argument("prompt_logprobs cannot be streamed", "prompt_logprobs"));
  }
  const json::value* options = reader.find("stream_options");
  if (options == nullptr) return;
  const json::object* members = options->if_object();
  if (members == nullptr) return reader.fail(wrong_type("stream_options", "an object", *options));
  if (!fields.stream) {
    return reader.fail(
        invalid_argument("stream_options can only be given with stream", "stream_options"));
  }
  JsonReader inner(*members, "stream_options");
  inner.read("include_usage", fields.include_usage);
  inner.read("continuous_usage_stats", fields.continuous_usage_stats);
  fields.continuous_usage_stats = fields.continuous_usage_stats && fields.include_usage;
  if (inner.failed()) reader.fail(inner.status().error());
}

void read_prompt_handling(JsonReader& reader, GenerationFields& fields) {
  reader.read("add_special_tokens", fields.add_special_tokens);
  reader.read("truncate_prompt_tokens", fields.truncate_prompt_tokens, -1);
  if (fields.truncate_prompt_tokens == 0) {
    reader.fail(invalid_argument("truncate_prompt_tokens must be -1 or at least 1, got 0",
                                 "truncate_prompt_tokens"));
  }
  std::string side = "left";
  reader.read("truncation_side", side);
  if (side != "left" && side != "right") {
    reader.fail(
        invalid_argument(str_cat("truncation_side must be 'left' or 'right', got ", quoted(side)),
                         "truncation_side"));
  }
  fields.truncate_at_the_right = side == "right";
}

void read_identity(JsonReader& reader, const RequestLimits& limits, GenerationFields& fields) {
  reader.read("model", fields.model);
  std::optional<std::int64_t> priority;
  reader.read("priority", priority, -kMaxInt32, kMaxInt32);
  if (priority.value_or(0) != 0 && !limits.allow_priority) {
    reader.fail(invalid_argument(
        "priority needs a server started with --scheduling-policy priority", "priority"));
  }
  fields.priority = static_cast<std::int32_t>(priority.value_or(0));

  if (reader.find("cache_salt") != nullptr) {
    reader.read("cache_salt", fields.cache_salt);
    if (fields.cache_salt.empty() || fields.cache_salt.size() > kMaxCacheSaltBytes) {
      reader.fail(invalid_argument(
          str_cat("cache_salt must have 1 to ", kMaxCacheSaltBytes, " bytes"), "cache_salt"));
    }
  }
  if (reader.find("request_id") != nullptr) {
    reader.read("request_id", fields.request_id);
    if (!is_usable_request_id(fields.request_id)) {
      reader.fail(invalid_argument(
          str_cat("request_id must have 1 to ", kMaxRequestIdBytes, " visible ASCII characters"),
          "request_id"));
    }
  }
}

// What would change the answer, were it passed over.
void refuse_what_is_not_done(JsonReader& reader) {
  constexpr std::string_view kNotYet = "is not supported by this server";
  for (const char* name :
       {"use_beam_search", "structured_outputs", "guided_json", "guided_regex", "guided_choice",
        "guided_grammar", "allowed_token_ids", "bad_words", "logits_processors",
        "kv_transfer_params", "thinking_token_budget", "repetition_detection", "prompt_embeds"}) {
    reader.refuse(name, kNotYet);
  }
  const json::value* format = reader.find("response_format");
  if (format == nullptr) return;
  const json::object* members = format->if_object();
  if (members == nullptr) return reader.fail(wrong_type("response_format", "an object", *format));
  JsonReader inner(*members, "response_format");
  std::string type;
  inner.read("type", type);
  if (inner.failed()) return reader.fail(inner.status().error());
  if (type != "text") {
    reader.fail(make_error(ErrorCode::kUnsupported,
                           str_cat("response_format must have the type 'text', got ", quoted(type)),
                           "response_format"));
  }
}

}  // namespace

void read_generation_fields(JsonReader& reader, const RequestLimits& limits,
                            GenerationFields& fields) {
  read_identity(reader, limits, fields);
  read_sampling(reader, limits, fields);
  read_logit_bias(reader, limits, fields);
  read_ending(reader, limits, fields);
  read_answer_form(reader, fields);
  read_prompt_handling(reader, fields);
  refuse_what_is_not_done(reader);
}

}  // namespace tvllm::server
