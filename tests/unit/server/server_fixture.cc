// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/server/server_fixture.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/strings.h"

namespace tvllm::server {

namespace json = boost::json;
using testing::HttpAnswer;

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

json::value parse_json(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  EXPECT_FALSE(error) << error.message() << ": " << text;
  return value;
}

json::value at(const json::value& value, std::string_view path) {
  const json::value* current = &value;
  for (const std::string_view name : split(path, '.')) {
    if (const json::object* object = current->if_object()) {
      current = object->if_contains({name.data(), name.size()});
    } else if (const json::array* array = current->if_array()) {
      current = array->if_contains(static_cast<std::size_t>(parse_int64(name).value_or(-1)));
    } else {
      current = nullptr;
    }
    if (current == nullptr) return nullptr;
  }
  return *current;
}

std::string text_at(const json::value& value, std::string_view path) {
  const json::value found = at(value, path);
  const json::string* text = found.if_string();
  return text == nullptr ? "<no text>" : std::string(text->data(), text->size());
}

void ServerTest::start(Setup setup) {
  tokenizer_ = testing::make_byte_tokenizer(setup.missing_bytes);
  if (!setup.chat_template.empty()) {
    auto parsed = chat_template::ChatTemplate::parse(setup.chat_template);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    chat_template_.emplace(std::move(*parsed));
  }
  engine_ = std::make_unique<testing::FakeEngine>(setup.engine);
  setup.options.port = 0;
  setup.options.http.tick_interval = std::chrono::milliseconds(5);
  if (setup.options.served_model_names.empty()) setup.options.served_model_names = {"tiny"};
  auto server = Server::start(setup.options,
                              {.tokenizer = tokenizer_.get(),
                               .chat_template = chat_template_ ? &*chat_template_ : nullptr,
                               .chat_template_error = {},
                               .vocab_size = 264,
                               .defaults = setup.defaults,
                               .created = 1234567890},
                              *engine_, setup.trace);
  ASSERT_TRUE(server.has_value()) << server.error().message;
  server_ = std::move(*server);
}

void ServerTest::TearDown() {
  if (server_ == nullptr) return;
  engine_->resume();
  server_.reset();
  EXPECT_EQ(engine_->num_live(), 0u);
}

json::value ServerTest::post_ok(std::string_view path, std::string_view body) const {
  const HttpAnswer answer = post(path, body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "application/json");
  return parse_json(answer.body);
}

std::vector<json::value> ServerTest::stream(std::string_view path, std::string_view body) const {
  const HttpAnswer answer = post(path, body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_TRUE(answer.complete);
  std::vector<std::string> texts = testing::parse_events(answer.body);
  EXPECT_FALSE(texts.empty());
  if (texts.empty()) return {};
  EXPECT_EQ(texts.back(), "[DONE]");
  texts.pop_back();
  std::vector<json::value> events;
  for (const std::string& text : texts)
    events.push_back(parse_json(text));
  return events;
}

json::value ServerTest::post_error(std::string_view path, std::string_view body, int status,
                                   std::optional<std::string> param) const {
  const HttpAnswer answer = post(path, body);
  EXPECT_EQ(answer.status, status) << body.substr(0, 300) << "\n" << answer.body.substr(0, 300);
  EXPECT_EQ(answer.header("content-type"), "application/json");
  const json::value error = at(parse_json(answer.body), "error");
  EXPECT_FALSE(text_at(error, "message").empty());
  EXPECT_TRUE(at(error, "type").is_string());
  EXPECT_TRUE(at(error, "code").is_string() || at(error, "code").is_null());
  if (param) {
    EXPECT_EQ(text_at(error, "param"), *param) << body.substr(0, 300) << "\n" << answer.body;
  } else {
    EXPECT_TRUE(at(error, "param").is_null()) << answer.body;
  }
  return error;
}

}  // namespace tvllm::server
