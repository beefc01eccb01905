// SPDX-License-Identifier: Apache-2.0
// A server before it has a model, and the limits it sets itself.
#include <gtest/gtest.h>

#include <csignal>
#include <memory>

#include "tests/unit/server/server_fixture.h"

namespace tvllm::server {
namespace {

using testing::http_get;
using testing::http_post;
using testing::HttpAnswer;

ServerOptions options() {
  ServerOptions options;
  options.port = 0;
  options.served_model_names = {"tiny"};
  options.http.tick_interval = std::chrono::milliseconds(5);
  return options;
}

std::unique_ptr<Server> listen(const ServerOptions& options) {
  auto server = Server::listen(options);
  EXPECT_TRUE(server.has_value()) << server.error().message;
  return std::move(*server);
}

TEST(LoadingTest, EverythingIsUnavailableUntilThereIsAModel) {
  const auto tokenizer = testing::make_byte_tokenizer();
  testing::FakeEngine engine({.eos = testing::kEndOfText});
  const auto server = listen(options());
  for (const char* path : {"/health", "/metrics", "/v1/models", "/nowhere"}) {
    const HttpAnswer answer = http_get(server->port(), path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(answer.header("retry-after"), "1");
    EXPECT_EQ(text_at(parse_json(answer.body), "error.message"), "The model is still loading");
  }
  testing::HttpClient kept(server->port());  // a connection from before lives on
  kept.send_request("GET", "/health");
  EXPECT_EQ(kept.read_answer().status, 503);

  server->serve({.tokenizer = tokenizer.get(), .vocab_size = 264}, engine);
  kept.send_request("GET", "/health");
  EXPECT_EQ(kept.read_answer().status, 200);
  engine.set_replies({testing::byte_tokens("abc")});
  EXPECT_EQ(http_post(server->port(), kCompletions, R"({"prompt":"x"})").status, 200);
}

TEST(LoadingTest, AServerThatNeverGetsAModelStops) {
  const auto server = listen(options());
  server->stop_now();
  EXPECT_TRUE(server->wait().has_value());
}

TEST(LoadingTest, AModelThatComesAfterTheStopIsNotServed) {
  const auto tokenizer = testing::make_byte_tokenizer();
  testing::FakeEngine engine({.eos = testing::kEndOfText});
  const auto server = listen(options());
  server->request_drain();
  EXPECT_TRUE(server->wait().has_value());
  server->serve({.tokenizer = tokenizer.get(), .vocab_size = 264}, engine);
  EXPECT_EQ(http_get(server->port(), "/health").status, 0);
}

TEST(LoadingDeathTest, ASignalWhileLoadingEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ServerOptions with_signals = options();
        with_signals.handle_signals = true;
        const auto server = listen(with_signals);
        std::raise(SIGTERM);
        EXPECT_TRUE(server->wait().has_value());
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(LoadingTest, MoreConnectionsThanFilesAreRefused) {
  ServerOptions too_many = options();
  too_many.max_connections = std::size_t{1} << 40;
  const auto refused = Server::listen(too_many);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "max-connections");
}

TEST(LoadingTest, ConnectionsArePastTheirLimitUnavailable) {
  ServerOptions one = options();
  one.max_connections = 1;
  const auto server = listen(one);
  testing::HttpClient first(server->port());
  first.send_request("GET", "/version");
  EXPECT_EQ(first.read_answer().status, 503);  // loading
  testing::HttpClient second(server->port());
  EXPECT_EQ(second.read_answer().status, 503);
  EXPECT_TRUE(second.closed_within(5000));
  first.send_request("GET", "/version");
  EXPECT_EQ(first.read_answer().status, 503);
}

}  // namespace
}  // namespace tvllm::server
