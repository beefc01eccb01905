// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "chat_template/chat_template.h"
#include "server/server.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/fake_engine.h"
#include "tests/support/http_client.h"

namespace tvllm::server {

inline constexpr std::string_view kChatTemplate =
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

inline constexpr std::string_view kChat = "/v1/chat/completions";
inline constexpr std::string_view kCompletions = "/v1/completions";

// Waits up to 20 s.
bool eventually(const std::function<bool()>& condition);

boost::json::value parse_json(std::string_view text);

// The member that a path like "choices.0.message.content" names; null if there is none.
boost::json::value at(const boost::json::value& value, std::string_view path);
std::string text_at(const boost::json::value& value, std::string_view path);

// A real server on a free port over a fake engine. Bytes are tokens (byte_tokenizer.h).
class ServerTest : public ::testing::Test {
 protected:
  struct Setup {
    ServerOptions options{};
    GenerationDefaults defaults{};
    std::string_view chat_template = kChatTemplate;
    std::string_view missing_bytes{};
    testing::FakeEngine::Options engine{.eos = testing::kEndOfText};
    trace::TraceRing* trace = nullptr;
  };

  void start() { start(Setup{}); }
  void start(Setup setup);
  void TearDown() override;

  std::uint16_t port() const { return server_->port(); }
  testing::HttpAnswer post(std::string_view path, std::string_view body) const {
    return testing::http_post(port(), path, body);
  }
  testing::HttpAnswer get(std::string_view path) const { return testing::http_get(port(), path); }

  // The body of a 200 answer.
  boost::json::value post_ok(std::string_view path, std::string_view body) const;
  // The events of a stream that ends as it should: [DONE] last, left out here.
  std::vector<boost::json::value> stream(std::string_view path, std::string_view body) const;
  // Expects an error body of the right form, and returns its error object.
  boost::json::value post_error(std::string_view path, std::string_view body, int status,
                                std::optional<std::string> param) const;

  void reply(std::string_view text) { engine_->set_replies({testing::byte_tokens(text)}); }
  std::shared_ptr<const Request> last_request() const { return engine_->submitted().back(); }

  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::optional<chat_template::ChatTemplate> chat_template_;
  std::unique_ptr<testing::FakeEngine> engine_;
  std::unique_ptr<Server> server_;
};

}  // namespace tvllm::server
