// SPDX-License-Identifier: Apache-2.0
#include "bench/completion_stream.h"

#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/strings.h"

namespace tvllm::bench {

namespace {

const boost::json::value* member(const boost::json::value* value, std::string_view name) {
  const boost::json::object* const object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

std::string_view text_of(const boost::json::value* value) {
  const boost::json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::int64_t count_of(const boost::json::value* value) {
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

// {"message": "..."}, {"error": {"message": "..."}} or {"error": "..."}
std::string_view message_of(const boost::json::value& value) {
  const boost::json::value* const error = member(&value, "error");
  if (const std::string_view text = text_of(error); !text.empty()) return text;
  return text_of(member(error != nullptr ? error : &value, "message"));
}

const boost::json::value* first_choice(const boost::json::value& event) {
  const boost::json::value* const choices = member(&event, "choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return nullptr;
  return &choices->get_array().front();
}

// Of a completion, or of a chat's delta: what it thinks is text as well.
std::string_view piece_of(const boost::json::value* choice) {
  const boost::json::value* const delta = member(choice, "delta");
  if (delta == nullptr) return text_of(member(choice, "text"));
  for (const char* const name : {"content", "reasoning_content", "reasoning"}) {
    if (const std::string_view text = text_of(member(delta, name)); !text.empty()) return text;
  }
  return {};
}

}  // namespace

void CompletionStream::take_in(std::string_view data, double now) {
  if (!outcome_.error.empty()) return;
  if (data == "[DONE]") {
    is_done_ = true;
    return;
  }
  boost::system::error_code error;
  const boost::json::value event = boost::json::parse(data, error);
  if (error) return fail(str_cat("an event is no valid JSON: ", quoted(data)));
  if (member(&event, "error") != nullptr) {
    return fail(str_cat("in the stream: ", quoted(message_of(event), 200)));
  }
  if (const boost::json::value* const choice = first_choice(event); choice != nullptr) {
    last_choice_ = now;
    if (const std::string_view text = piece_of(choice); !text.empty()) add_text(text, now);
  }
  const boost::json::value* const usage = member(&event, "usage");
  if (const std::int64_t count = count_of(member(usage, "prompt_tokens")); count > 0) {
    outcome_.num_prompt_tokens = count;
  }
  if (const std::int64_t count = count_of(member(usage, "completion_tokens")); count > 0) {
    outcome_.num_output_tokens = count;
  }
}

void CompletionStream::add_text(std::string_view text, double now) {
  if (++num_pieces_ == 1) {
    outcome_.ttft = now - outcome_.start;
  } else {
    outcome_.itls.push_back(now - last_text_);
  }
  last_text_ = now;
  outcome_.latency = now - outcome_.start;
  outcome_.text += text;
}

void CompletionStream::finish() {
  if (!outcome_.error.empty()) return;
  if (!last_choice_) return fail("no token came");
  if (!is_done_) return fail("the stream ended without [DONE]");
  if (num_pieces_ == 0) add_text({}, *last_choice_);
  if (outcome_.num_output_tokens == 0) outcome_.num_output_tokens = num_pieces_;
  outcome_.success = true;
}

void CompletionStream::fail(std::string error) {
  outcome_.error = std::move(error);
}

std::string error_sentence(std::string_view body) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(body, error);
  const std::string_view message = error ? std::string_view() : message_of(value);
  return message.empty() ? quoted(body, 200) : quoted(message, 400);
}

}  // namespace tvllm::bench
