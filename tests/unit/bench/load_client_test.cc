// SPDX-License-Identifier: Apache-2.0
// The client against our own server over a fake engine, and against servers that misbehave.
#include "bench/http/load_client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "bench/completion_request.h"
#include "tests/unit/server/server_fixture.h"

namespace tvllm::bench {
namespace {

using ::testing::HasSubstr;

class LoadClientTest : public server::ServerTest {
 protected:
  ServerAddress address() const { return {.host = "127.0.0.1", .port = port()}; }

  std::vector<LoadRequest> requests(int count, std::int32_t output_len, bool is_chat = false) {
    const std::vector<BenchPrompt> prompts(
        static_cast<std::size_t>(count),
        {.text = "hello", .num_tokens = 5, .num_output_tokens = output_len});
    const auto bodies =
        completion_bodies({.model = "tiny", .is_chat = is_chat, .ignore_eos = true}, prompts);
    std::vector<LoadRequest> out;
    for (const std::string& body : *bodies) {
      out.push_back(
          {.bytes = request_bytes(address(), "POST",
                                  is_chat ? "/v1/chat/completions" : "/v1/completions", {}, body)});
    }
    return out;
  }
};

TEST_F(LoadClientTest, CountsWhatTheServerSays) {
  start();
  reply("abc");
  for (const bool is_chat : {false, true}) {
    std::size_t num_finished = 0;
    const Result<LoadRun> run =
        run_load(address(), requests(20, 6, is_chat), {.on_finished = [&] { ++num_finished; }});
    ASSERT_TRUE(run.has_value()) << run.error().message;
    EXPECT_EQ(num_finished, 20u);
    ASSERT_EQ(run->outcomes.size(), 20u);
    for (const RequestOutcome& outcome : run->outcomes) {
      EXPECT_TRUE(outcome.success) << outcome.error;
      EXPECT_EQ(outcome.num_output_tokens, 6);
      EXPECT_EQ(outcome.text, "abcccc");
      EXPECT_GE(outcome.num_prompt_tokens, 5);
      EXPECT_GT(outcome.ttft, 0.0);
      EXPECT_LE(outcome.ttft, outcome.latency);
      EXPECT_LE(outcome.start + outcome.latency, run->seconds);
    }
  }
}

TEST_F(LoadClientTest, NoMoreAtOnceThanTheBoundAndTheOthersWait) {
  start();
  reply("abc");
  const Result<LoadRun> run = run_load(address(), requests(12, 4), {.max_concurrency = 3});
  ASSERT_TRUE(run.has_value());
  const ServingMetrics metrics = serving_metrics(run->outcomes, run->seconds, {});
  EXPECT_EQ(metrics.num_completed, 12);
  EXPECT_LE(metrics.max_concurrent_requests, 3);
  EXPECT_EQ(run->outcomes.front().queue_seconds < run->outcomes.back().queue_seconds, true);
}

TEST_F(LoadClientTest, RequestsAreSentAtTheirTimes) {
  start();
  reply("abc");
  std::vector<LoadRequest> timed = requests(3, 1);
  timed[1].at_seconds = 0.05;
  timed[2].at_seconds = 0.1;
  const Result<LoadRun> run = run_load(address(), timed, {});
  ASSERT_TRUE(run.has_value());
  EXPECT_LT(run->outcomes[0].start, 0.05);
  EXPECT_GE(run->outcomes[1].start, 0.05);
  EXPECT_GE(run->outcomes[2].start, 0.1);
}

TEST_F(LoadClientTest, ARefusalIsToldWithItsSentence) {
  start();
  std::vector<LoadRequest> wrong = requests(1, 4);
  wrong[0].bytes = request_bytes(address(), "POST", "/v1/completions", {}, R"({"model": 7})");
  const Result<LoadRun> run = run_load(address(), wrong, {});
  ASSERT_TRUE(run.has_value());
  EXPECT_FALSE(run->outcomes.front().success);
  EXPECT_THAT(run->outcomes.front().error, HasSubstr("HTTP 400: "));
  EXPECT_THAT(run->outcomes.front().error, HasSubstr("model"));
}

TEST_F(LoadClientTest, OneAnswerIsFetchedWhole) {
  start();
  const Result<FetchedAnswer> answer =
      fetch(address(), request_bytes(address(), "GET", "/v1/models", {}));
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(first_model_id(answer->body), "tiny");
}

// --- servers that misbehave ---

// Accepts connections one after another and hands each to the next script.
class RawServer {
 public:
  using Script = std::function<void(int fd)>;

  explicit RawServer(std::vector<Script> scripts) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 8);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this, scripts = std::move(scripts)] {
      for (const Script& script : scripts) {
        const int fd = ::accept(listener_, nullptr, nullptr);
        script(fd);
        ::close(fd);
      }
    });
  }
  ~RawServer() {
    thread_.join();
    ::close(listener_);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  ServerAddress address() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  int listener_;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

void answer(int fd, std::string_view text) {
  std::array<char, 4096> request;
  if (::recv(fd, request.data(), request.size(), 0) <= 0) return;
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string event_stream(std::string_view body) {
  return str_cat("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: ",
                 body.size(), "\r\n\r\n", body);
}

const std::string kSound =
    event_stream("data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n");

std::vector<RequestOutcome> run_raw(const RawServer& server, std::size_t count) {
  const std::vector<LoadRequest> requests(
      count,
      {.bytes = request_bytes(server.address(), "POST", "/", {}, "{}"), .num_prompt_tokens = 4});
  Result<LoadRun> run = run_load(server.address(), requests, {.max_concurrency = 1});
  return run.has_value() ? std::move(run->outcomes) : std::vector<RequestOutcome>();
}

TEST(LoadClientFaultTest, ConnectionsAreUsedAgain) {
  const RawServer server({[](int fd) {
    for (int i = 0; i < 3; ++i)
      answer(fd, kSound);
  }});
  for (const RequestOutcome& outcome : run_raw(server, 3)) {
    EXPECT_TRUE(outcome.success) << outcome.error;
    EXPECT_EQ(outcome.num_prompt_tokens, 4);  // the server says nothing
    EXPECT_EQ(outcome.num_output_tokens, 1);
  }
}

TEST(LoadClientFaultTest, AConnectionThatWasClosedWhileIdleIsOpenedAgain) {
  const RawServer server({[](int fd) { answer(fd, kSound); }, [](int fd) { answer(fd, kSound); }});
  for (const RequestOutcome& outcome : run_raw(server, 2))
    EXPECT_TRUE(outcome.success) << outcome.error;
}

TEST(LoadClientFaultTest, EveryFaultIsOneFailedRequest) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "the connection ended without an answer"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ndata: x", "in the middle"},
      {"hello\r\n\r\n", "not valid HTTP"},
      {event_stream("data: {\"choices\":[{\"text\":\"a\"}]}\n\n"), "[DONE]"},
      {event_stream("data: nonsense\n\n"), "no valid JSON"},
      {event_stream("data: " + std::string(100, 'x')), "no token came"},
      {"HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nbad", "HTTP 500: 'bad'"},
  };
  for (const auto& [text, said] : faults) {
    const RawServer server({[&text = text](int fd) { answer(fd, text); }});
    const std::vector<RequestOutcome> outcomes = run_raw(server, 1);
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_FALSE(outcomes[0].success);
    EXPECT_THAT(outcomes[0].error, HasSubstr(said));
  }
}

TEST(LoadClientFaultTest, NobodyThereIsToldOfEachRequest) {
  ServerAddress nowhere;
  {
    const RawServer server({});
    nowhere = server.address();
  }
  const std::vector<LoadRequest> requests(2, {.bytes = "x"});
  const Result<LoadRun> run = run_load(nowhere, requests, {});
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(run->outcomes[1].error,
              HasSubstr(str_cat("cannot connect to 127.0.0.1:", nowhere.port)));
  EXPECT_FALSE(fetch(nowhere, "x").has_value());
}

TEST(LoadClientFaultTest, AHostWithoutAnAddressIsAnError) {
  const ServerAddress server{.host = "no such host", .port = 1};
  const Result<LoadRun> run = run_load(server, {}, {});
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace tvllm::bench
