// SPDX-License-Identifier: Apache-2.0
// Clients that leave at every stage, and the end of the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "tests/unit/server/server_fixture.h"

namespace tvllm::server {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using tvllm::testing::byte_tokens;
using tvllm::testing::HttpAnswer;
using tvllm::testing::HttpClient;
using tvllm::testing::kEndOfText;
using tvllm::testing::parse_events;

constexpr std::string_view kEndless = R"("prompt":"x","max_tokens":900,"ignore_eos":true)";
const std::string kEndlessStream = str_cat("{", kEndless, R"(,"stream":true})");
const std::string kEndlessWhole = str_cat("{", kEndless, "}");

class LifecycleTest : public ServerTest {
 protected:
  std::unique_ptr<HttpClient> open(std::string_view body) const {
    auto client = std::make_unique<HttpClient>(port());
    client->send_request("POST", kCompletions, body);
    return client;
  }
  bool engine_is_empty_soon() const {
    return eventually([&] { return engine_->num_live() == 0; });
  }
};

TEST_F(LifecycleTest, AClientThatLeavesAtAnyStageFreesItsSequences) {
  start();
  reply("abc");
  engine_->pause();
  std::size_t num_expected = 0;
  for (const std::string& body : {kEndlessStream, kEndlessWhole}) {
    for (const int num_steps : {0, 1, 3}) {  // in the queue, after the first token, later
      for (const bool reset : {false, true}) {
        const auto client = open(body);
        ASSERT_TRUE(eventually([&] { return engine_->num_live() == 1; }));
        for (int i = 1; i <= num_steps; ++i) {
          engine_->step();
          if (&body == &kEndlessStream) client->read_until("\n\n");
        }
        if (reset) {
          client->reset();
        } else {
          client->close();
        }
        ++num_expected;
        EXPECT_TRUE(eventually([&] { return engine_->num_cancelled() == num_expected; }))
            << body << num_steps << reset;
        EXPECT_TRUE(engine_is_empty_soon());
      }
    }
  }
}

TEST_F(LifecycleTest, AllChoicesOfAClientThatLeavesAreCancelled) {
  start();
  reply("abc");
  engine_->pause();
  const auto client = open(
      str_cat(R"({"prompt":["a","b"],"n":3,"max_tokens":900,"ignore_eos":true,"stream":true})"));
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 6; }));
  client->close();
  EXPECT_TRUE(eventually([&] { return engine_->num_cancelled() == 6; }));
  EXPECT_TRUE(engine_is_empty_soon());
}

TEST_F(LifecycleTest, AHalfClosedClientGetsItsWholeAnswer) {
  start();
  reply("abc");
  engine_->pause();
  const auto whole = open(R"({"prompt":"x"})");
  const auto streamed = open(R"({"prompt":"x","stream":true})");
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 2; }));
  whole->shutdown_send();
  streamed->shutdown_send();
  std::this_thread::sleep_for(milliseconds(50));
  engine_->resume();
  EXPECT_EQ(text_at(parse_json(whole->read_answer().body), "choices.0.text"), "abc");
  const auto events = parse_events(streamed->read_answer().body);
  EXPECT_EQ(events.size(), 5u);
  EXPECT_EQ(engine_->num_cancelled(), 0u);
}

TEST_F(LifecycleTest, ManyClientsThatLeaveAtOnceLeaveNothingBehind) {
  start();
  reply("abc");
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 64; ++i)
    clients.push_back(open(i % 2 == 0 ? kEndlessStream : kEndlessWhole));
  ASSERT_TRUE(eventually([&] { return engine_->num_submitted() == 64; }));
  clients.clear();
  EXPECT_TRUE(engine_is_empty_soon());
  EXPECT_EQ(text_at(post_ok(kCompletions, R"({"prompt":"x"})"), "choices.0.text"), "abc");
}

TEST_F(LifecycleTest, ASlowReaderLosesItsStreamAndNobodyElseDoes) {
  Setup setup;
  setup.options.http.max_stream_buffer_bytes = 64 * 1024;
  setup.engine.max_model_len = 1'000'000;
  start(setup);
  reply("abc");
  const auto slow = std::make_unique<HttpClient>(port());
  slow->set_receive_buffer(4096);
  slow->send_request("POST", kCompletions,
                     R"({"prompt":"x","max_tokens":900000,"ignore_eos":true,"stream":true})");
  EXPECT_TRUE(eventually([&] { return engine_->num_cancelled() == 1; }));
  EXPECT_TRUE(engine_is_empty_soon());
  EXPECT_EQ(get("/health").status, 200);
}

TEST_F(LifecycleTest, ASilentStreamIsPinged) {
  Setup setup;
  setup.options.http.ping_interval = milliseconds(20);
  start(setup);
  reply("abc");
  engine_->pause();
  const auto client = open(R"({"prompt":"x","stream":true})");
  EXPECT_THAT(client->read_until(": ping\n\n"), HasSubstr("text/event-stream"));
  engine_->resume();
  client->read_until("[DONE]\n\n");
}

// --- the end ---

TEST_F(LifecycleTest, DrainingFinishesWhatIsOpenAndTurnsTheRestAway) {
  start();
  reply("abc");
  engine_->pause();
  const auto whole = open(R"({"prompt":"x"})");
  const auto streamed = open(R"({"prompt":"x","stream":true})");
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 2; }));

  server_->request_drain();
  EXPECT_TRUE(eventually([&] { return get("/health").status == 503; }));
  post_error(kCompletions, R"({"prompt":"x"})", 503, std::nullopt);
  EXPECT_EQ(get("/version").status, 200);
  EXPECT_EQ(engine_->num_submitted(), 2u);

  engine_->resume();
  EXPECT_EQ(text_at(parse_json(whole->read_answer().body), "choices.0.text"), "abc");
  EXPECT_EQ(parse_events(streamed->read_answer().body).back(), "[DONE]");
  EXPECT_TRUE(server_->wait().has_value());
  EXPECT_EQ(engine_->num_cancelled(), 0u);
}

TEST_F(LifecycleTest, AnIdleServerDrainsAtOnce) {
  start();
  const HttpAnswer answer = get("/health");  // leaves nothing behind
  EXPECT_EQ(answer.status, 200);
  const auto start_time = steady_clock::now();
  server_->request_drain();
  EXPECT_TRUE(server_->wait().has_value());
  EXPECT_LT(steady_clock::now() - start_time, milliseconds(2000));
}

TEST_F(LifecycleTest, WhenTheTimeIsUpStreamsEndProperlyAndWholeAnswersSayWhy) {
  Setup setup;
  setup.options.shutdown_timeout = milliseconds(50);
  start(setup);
  reply("abc");
  engine_->pause();
  const auto whole = open(kEndlessWhole);
  const auto streamed = open(kEndlessStream);
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 2; }));
  engine_->step(2);
  server_->request_drain();
  EXPECT_EQ(whole->read_answer().status, 503);
  const auto events = parse_events(streamed->read_answer().body);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(text_at(parse_json(events[2]), "choices.0.finish_reason"), "abort");
  EXPECT_EQ(events[3], "[DONE]");
  EXPECT_TRUE(server_->wait().has_value());
}

TEST_F(LifecycleTest, ASecondRequestStopsNow) {
  start();
  reply("abc");
  engine_->pause();
  const auto streamed = open(kEndlessStream);
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 1; }));
  server_->request_drain();
  server_->request_drain();
  EXPECT_TRUE(server_->wait().has_value());
  streamed->read_to_end();
  EXPECT_TRUE(engine_is_empty_soon());
}

TEST_F(LifecycleTest, ASignalDrainsAndASecondOneStops) {
  Setup setup;
  setup.options.handle_signals = true;
  start(setup);
  reply("abc");
  engine_->pause();
  const auto streamed = open(kEndlessStream);
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 1; }));
  ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
  EXPECT_TRUE(eventually([&] { return get("/health").status == 503; }));
  EXPECT_EQ(engine_->num_live(), 1u);
  ASSERT_EQ(::kill(::getpid(), SIGINT), 0);
  EXPECT_TRUE(server_->wait().has_value());
}

TEST_F(LifecycleTest, DestroyingAServerInTheMiddleOfWorkIsSafe) {
  for (int i = 0; i < 20; ++i) {
    start();
    reply("abc");
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int k = 0; k < 10; ++k)
      clients.push_back(open(k % 2 == 0 ? kEndlessStream : kEndlessWhole));
    std::this_thread::sleep_for(milliseconds(i % 5));
    server_.reset();
    EXPECT_EQ(engine_->num_live(), 0u);
  }
}

// --- crowds ---

TEST_F(LifecycleTest, ManyStreamsAtOnceEachGetTheirOwnText) {
  start();
  engine_->set_replies({byte_tokens("zero"), byte_tokens("one"), byte_tokens("two")});
  std::vector<std::thread> threads;
  std::atomic<int> num_good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        HttpClient client(port());
        client.send_request("POST", kCompletions, R"({"prompt":"x","n":3,"stream":true})");
        std::vector<std::string> texts(3);
        for (const std::string& event : parse_events(client.read_answer().body)) {
          if (event == "[DONE]") continue;
          const json::value chunk = parse_json(event);
          texts[static_cast<std::size_t>(at(chunk, "choices.0.index").as_int64())] +=
              text_at(chunk, "choices.0.text");
        }
        if (texts == std::vector<std::string>{"zero", "one", "two"}) ++num_good;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(num_good, 200);
}

TEST_F(LifecycleTest, HealthAnswersAtOnceBesideManyStreams) {
  Setup setup;
  start(setup);
  reply("abc");
  engine_->pause();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 400; ++i)
    clients.push_back(open(kEndlessStream));
  ASSERT_TRUE(eventually([&] { return engine_->num_live() == 400; }));
  const auto start_time = steady_clock::now();
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_LT(steady_clock::now() - start_time, milliseconds(500));
  clients.clear();
  EXPECT_TRUE(engine_is_empty_soon());
}

// More than one slice of sends; none is passed over or sent twice.
TEST_F(LifecycleTest, TwoThousandStreamsAtOnceAreAllServedAndAllFreed) {
  constexpr int kNumStreams = 2000;
  Setup setup;
  setup.engine.max_live = kNumStreams;
  setup.options.http.write_timeout = milliseconds(120'000);
  start(setup);
  reply("0123456789");
  engine_->pause();
  for (const bool leaves : {false, true}) {
    std::vector<std::unique_ptr<HttpClient>> clients;
    for (int i = 0; i < kNumStreams; ++i) {
      clients.push_back(open(R"({"prompt":"x","stream":true,"max_tokens":10})"));
      if (i % 100 == 0) {
        EXPECT_EQ(get("/health").status, 200);
      }
    }
    ASSERT_TRUE(eventually([&] { return engine_->num_live() == kNumStreams; }));
    if (leaves) {
      engine_->step(3);
      clients.back()->read_until(R"("text":"2")");
      clients.clear();
      EXPECT_TRUE(engine_is_empty_soon());
      continue;
    }
    for (int step = 0; step < 10; ++step) {
      engine_->step();
      const auto start_time = steady_clock::now();
      EXPECT_EQ(get("/health").status, 200);
      EXPECT_LT(steady_clock::now() - start_time, milliseconds(1000));
    }
    for (const auto& client : clients) {
      std::string text;
      const HttpAnswer answer = client->read_answer();
      ASSERT_TRUE(answer.complete);
      for (const std::string& event : parse_events(answer.body)) {
        if (event != "[DONE]") text += text_at(parse_json(event), "choices.0.text");
      }
      ASSERT_EQ(text, "0123456789");
    }
    EXPECT_TRUE(engine_is_empty_soon());
  }
  // Every place is free again.
  engine_->resume();
  EXPECT_EQ(post(kCompletions, R"({"prompt":"x"})").status, 200);
}

TEST_F(LifecycleTest, ThousandsOfRequestsOnOneConnection) {
  start();
  reply("abc");
  HttpClient client(port());
  for (int i = 0; i < 3000; ++i) {
    const bool streamed = i % 3 == 0;
    client.send_request("POST", kCompletions,
                        streamed ? R"({"prompt":"x","stream":true})" : R"({"prompt":"x"})");
    const HttpAnswer answer = client.read_answer();
    ASSERT_EQ(answer.status, 200);
    ASSERT_TRUE(answer.complete);
  }
}

}  // namespace
}  // namespace tvllm::server
