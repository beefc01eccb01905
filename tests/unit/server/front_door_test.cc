// SPDX-License-Identifier: Apache-2.0
// What is the same for every endpoint: paths, methods, keys, origins, bodies, overload, failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/unit/server/server_fixture.h"

namespace tvllm::server {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using tvllm::testing::http_get;
using tvllm::testing::http_post;
using tvllm::testing::HttpAnswer;
using tvllm::testing::HttpClient;
using tvllm::testing::kEndOfText;

constexpr std::string_view kAsk = R"({"prompt":"x"})";

class FrontDoorTest : public ServerTest {
 protected:
  HttpAnswer send(std::string_view method, std::string_view path,
                  const std::vector<std::string>& headers = {}, std::string_view body = {}) const {
    HttpClient client(port());
    client.send_request(method, path, body, headers);
    return client.read_answer(method != "HEAD");
  }
  static std::string error_code(const HttpAnswer& answer) {
    return text_at(parse_json(answer.body), "error.code");
  }
};

TEST_F(FrontDoorTest, SmallEndpointsAnswer) {
  start();
  for (const char* path : {"/health", "/ping"}) {
    EXPECT_EQ(get(path).status, 200);
    EXPECT_EQ(get(path).body, "");
  }
  EXPECT_EQ(post("/ping", "").status, 200);
  EXPECT_EQ(text_at(parse_json(get("/version").body), "version"), "0.1.0");
}

TEST_F(FrontDoorTest, ModelsAreListedAndFound) {
  Setup setup;
  setup.options.served_model_names = {"org/tiny model", "alias"};
  start(setup);
  const json::value models = parse_json(get("/v1/models").body);
  EXPECT_EQ(text_at(models, "object"), "list");
  EXPECT_EQ(at(models, "data.0"),
            parse_json(R"({"id":"org/tiny model","object":"model","created":1234567890,)"
                       R"("owned_by":"tiny-vllm","root":"org/tiny model","parent":null,)"
                       R"("max_model_len":1024,"permission":[]})"));
  EXPECT_EQ(text_at(models, "data.1.id"), "alias");
  for (const char* path : {"/v1/models/org/tiny%20model", "/v1/models/org%2Ftiny%20model"})
    EXPECT_EQ(text_at(parse_json(get(path).body), "id"), "org/tiny model");
  EXPECT_EQ(get("/v1/models/other").status, 404);
  EXPECT_EQ(error_code(get("/v1/models/other")), "model_not_found");

  reply("x");
  EXPECT_EQ(text_at(post_ok(kCompletions, kAsk), "model"), "org/tiny model");
  EXPECT_EQ(text_at(post_ok(kCompletions, R"({"prompt":"x","model":"alias"})"), "model"), "alias");
}

TEST_F(FrontDoorTest, AnUnknownModelIsNotFound) {
  start();
  for (const std::string_view path : {kChat, kCompletions}) {
    const json::value error = post_error(
        path, R"({"model":"no-such","prompt":"x","messages":[{"role":"user","content":"x"}]})", 404,
        "model");
    EXPECT_EQ(text_at(error, "code"), "model_not_found");
    EXPECT_THAT(text_at(error, "message"), HasSubstr("no-such"));
  }
  post_error("/tokenize", R"({"model":"no-such","prompt":"x"})", 404, "model");
  post_error("/detokenize", R"({"model":"no-such","tokens":[1]})", 404, "model");
}

TEST_F(FrontDoorTest, UnknownPathsAndWrongMethodsAreToldApart) {
  start();
  for (const char* path :
       {"/", "/v1", "/v1/nothing", "/v1/models/", "/health/", "/v1/completions/x"})
    EXPECT_EQ(get(path).status, 404) << path;
  const std::pair<const char*, const char*> cases[] = {
      {"/v1/completions", "POST, OPTIONS"},  {"/v1/chat/completions", "POST, OPTIONS"},
      {"/v1/models", "GET, HEAD, OPTIONS"},  {"/health", "GET, HEAD, OPTIONS"},
      {"/ping", "GET, HEAD, POST, OPTIONS"},
  };
  for (const auto& [path, allowed] : cases) {
    for (const char* method : {"PUT", "DELETE", "PATCH", "BREW"}) {
      const HttpAnswer answer = send(method, path);
      EXPECT_EQ(answer.status, 405) << method << path;
      EXPECT_EQ(answer.header("allow"), allowed) << method << path;
    }
    const HttpAnswer options = send("OPTIONS", path);
    EXPECT_EQ(options.status, 204);
    EXPECT_EQ(options.header("allow"), allowed);
  }
  EXPECT_EQ(send("GET", "/v1/completions").status, 405);
  EXPECT_EQ(send("POST", "/v1/models").status, 405);
  EXPECT_EQ(send("OPTIONS", "/nothing").status, 404);
  EXPECT_EQ(send("OPTIONS", "*").status, 204);
  EXPECT_EQ(send("HEAD", "/v1/models").status, 200);
}

TEST_F(FrontDoorTest, ARootPathIsTakenOff) {
  Setup setup;
  setup.options.root_path = "/llm";
  start(setup);
  EXPECT_EQ(get("/llm/v1/models").status, 200);
  EXPECT_EQ(get("/v1/models").status, 200);
  EXPECT_EQ(get("/llm/v1/models/tiny").status, 200);
}

// --- keys ---

TEST_F(FrontDoorTest, AKeyGuardsEverythingButHealthAndVersion) {
  Setup setup;
  setup.options.api_keys = {"first key", "second"};
  start(setup);
  reply("x");
  const char* wrong[] = {"X: y",
                         "Authorization: Bearer",
                         "Authorization: Bearer ",
                         "Authorization: Bearer wrong",
                         "Authorization: Bearer first ke",
                         "Authorization: Bearer first key2",
                         "Authorization: second",
                         "Authorization: Basic second",
                         "Authorization: Bearersecond"};
  for (const char* header : wrong) {
    for (const char* path :
         {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"}) {
      const HttpAnswer answer = http_post(port(), path, kAsk, {header});
      EXPECT_EQ(answer.status, 401) << header << path;
      EXPECT_EQ(error_code(answer), "invalid_api_key");
      EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
    }
    EXPECT_EQ(http_get(port(), "/v1/models", {header}).status, 401);
    EXPECT_EQ(http_get(port(), "/v1/models/tiny", {header}).status, 401);
    for (const char* path : {"/health", "/ping", "/version"})
      EXPECT_EQ(http_get(port(), path, {header}).status, 200);
  }
  EXPECT_EQ(engine_->num_submitted(), 0u);
  for (const char* header : {"Authorization: Bearer first key", "Authorization: Bearer second",
                             "authorization: bearer second"}) {
    EXPECT_EQ(http_post(port(), kCompletions, kAsk, {header}).status, 200);
    EXPECT_EQ(http_get(port(), "/v1/models", {header}).status, 200);
  }
}

// --- origins ---

TEST_F(FrontDoorTest, APageFromElsewhereCannotMakeTheServerWork) {
  start();
  reply("x");
  EXPECT_EQ(http_post(port(), kCompletions, kAsk, {"Origin: https://evil.example"}).status, 403);
  EXPECT_EQ(http_post(port(), kCompletions, kAsk, {"Origin: null"}).status, 403);
  EXPECT_EQ(engine_->num_submitted(), 0u);
  // The client of the tests says "Host: localhost".
  EXPECT_EQ(http_post(port(), kCompletions, kAsk, {"Origin: http://localhost"}).status, 200);
  const HttpAnswer read = http_get(port(), "/v1/models", {"Origin: https://evil.example"});
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.header("access-control-allow-origin"), "");
}

TEST_F(FrontDoorTest, AnAllowedOriginMayUseTheApi) {
  Setup setup;
  setup.options.allowed_origins = {"https://a.example", "https://b.example"};
  start(setup);
  reply("x");
  const HttpAnswer answer = http_post(port(), kCompletions, kAsk, {"Origin: https://b.example"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("access-control-allow-origin"), "https://b.example");
  EXPECT_EQ(answer.header("vary"), "Origin");
  const HttpAnswer streamed = http_post(port(), kCompletions, R"({"prompt":"x","stream":true})",
                                        {"Origin: https://b.example"});
  EXPECT_EQ(streamed.header("access-control-allow-origin"), "https://b.example");

  const HttpAnswer preflight =
      send("OPTIONS", kCompletions,
           {"Origin: https://a.example", "Access-Control-Request-Method: POST"});
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("access-control-allow-methods"), "POST, OPTIONS");
  EXPECT_THAT(preflight.header("access-control-allow-headers"), HasSubstr("Authorization"));
  EXPECT_EQ(http_post(port(), kCompletions, kAsk, {"Origin: https://c.example"}).status, 403);
}

TEST_F(FrontDoorTest, AStarAllowsEveryOrigin) {
  Setup setup;
  setup.options.allowed_origins = {"*"};
  start(setup);
  reply("x");
  const HttpAnswer answer = http_post(port(), kCompletions, kAsk, {"Origin: https://x.example"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("access-control-allow-origin"), "*");
}

// --- bodies ---

TEST_F(FrontDoorTest, WhatIsNoJsonObjectIsRefused) {
  start();
  for (const std::string_view path : {kChat, kCompletions, std::string_view("/tokenize")}) {
    for (const std::string& body :
         std::vector<std::string>{"",
                                  " ",
                                  "{",
                                  "}",
                                  "[]",
                                  "null",
                                  "1",
                                  "\"x\"",
                                  "{} {}",
                                  "{\"a\":}",
                                  "{\"a\":1,}",
                                  "{'a':1}",
                                  "{\"a\":NaN}",
                                  "{\"a\":Infinity}",
                                  "{\"a\":01}",
                                  "{\"a\":1.}",
                                  "{\"model\":\"\xff\"}",
                                  "{\"model\":\"\\ud800\"}",
                                  "\xef\xbb\xbf{}",
                                  std::string(100'000, '['),
                                  "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}",
                                  std::string("{\"a\":\"\0\"}", 9)}) {
      post_error(path, body, 400, std::nullopt);
    }
  }
}

TEST_F(FrontDoorTest, JsonMayBeNested64Deep) {
  start();
  reply("x");
  const auto nested = [](int depth) {  // the object itself is one level
    const auto count = static_cast<std::size_t>(depth - 1);
    return str_cat(R"({"prompt":"x","a":)", std::string(count, '['), std::string(count, ']'), "}");
  };
  post_ok(kCompletions, nested(64));
  post_error(kCompletions, nested(65), 400, std::nullopt);
}

TEST_F(FrontDoorTest, TheLastOfEqualKeysCounts) {
  start();
  reply("abc");
  post_ok(kCompletions, R"({"prompt":"x","max_tokens":1,"max_tokens":2})");
  EXPECT_EQ(last_request()->sampling.max_tokens, 2);
}

TEST_F(FrontDoorTest, AContentTypeIsNotAskedFor) {
  start();
  reply("x");
  for (const char* type :
       {"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "X: y"}) {
    HttpClient client(port());
    client.send(str_cat("POST /v1/completions HTTP/1.1\r\nHost: a\r\n", type,
                        "\r\nContent-Length: ", kAsk.size(), "\r\n\r\n", kAsk));
    EXPECT_EQ(client.read_answer().status, 200) << type;
  }
}

TEST_F(FrontDoorTest, ABodyOverTheLimitIsTooLarge) {
  Setup setup;
  setup.options.http.max_body_bytes = 1000;
  start(setup);
  reply("x");
  const auto body = [](std::size_t size) {
    const std::string empty = R"({"prompt":"x","pad":""})";
    return str_cat(R"({"prompt":"x","pad":")", std::string(size - empty.size(), 'x'), "\"}");
  };
  post_ok(kCompletions, body(1000));
  EXPECT_EQ(text_at(post_error(kCompletions, body(1001), 413, std::nullopt), "code"),
            "request_too_large");
}

// --- overload and failures ---

TEST_F(FrontDoorTest, PastTheLimitOfChoicesTheAnswerIs429AtOnce) {
  Setup setup;
  setup.options.max_queued_requests = 2;
  setup.options.max_num_seqs = 2;
  start(setup);
  reply("x");
  engine_->pause();
  std::vector<std::unique_ptr<HttpClient>> waiting;
  const auto send_waiting = [&](std::string_view body) {
    waiting.push_back(std::make_unique<HttpClient>(port()));
    waiting.back()->send_request("POST", kCompletions, body);
  };
  send_waiting(R"({"prompt":"x","n":2})");
  send_waiting(kAsk);
  EXPECT_TRUE(eventually([&] { return engine_->num_live() == 3; }));
  // One place is left: not enough for two.
  const HttpAnswer refused = post(kCompletions, R"({"prompt":"x","n":2})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(error_code(refused), "rate_limit_exceeded");
  send_waiting(kAsk);
  EXPECT_TRUE(eventually([&] { return engine_->num_live() == 4; }));
  EXPECT_EQ(post(kCompletions, kAsk).status, 429);
  EXPECT_EQ(post(kChat, R"({"messages":[{"role":"user","content":"x"}]})").status, 429);
  EXPECT_EQ(post("/tokenize", R"({"prompt":"x"})").status, 429);
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_EQ(get("/v1/models").status, 200);

  engine_->resume();
  for (const auto& client : waiting)
    EXPECT_EQ(client->read_answer().status, 200);
  // Every place has come back.
  for (int i = 0; i < 20; ++i)
    post_ok(kCompletions, R"({"prompt":["a","b"],"n":2})");
}

TEST_F(FrontDoorTest, PlacesComeBackWhateverBecomesOfARequest) {
  Setup setup;
  setup.options.max_queued_requests = 1;
  setup.options.max_num_seqs = 1;
  setup.engine.max_live = 1;
  start(setup);
  reply("x");
  for (int i = 0; i < 10; ++i) {
    post_error(kCompletions, "{", 400, std::nullopt);
    post_error(kCompletions, R"({"prompt":"x","temperature":5})", 400, "temperature");
    post_error(kCompletions, R"({"prompt":"x","n":3})", 400, "n");
    post_error("/tokenize", "{}", 400, "prompt");
    // The engine takes one of two, and has not ended the first when the second comes.
    engine_->pause();
    EXPECT_EQ(post(kCompletions, R"({"prompt":"x","n":2})").status, 429);
    engine_->resume();
    EXPECT_TRUE(eventually([&] { return engine_->num_live() == 0; }));
    EXPECT_TRUE(eventually([&] { return post(kCompletions, kAsk).status == 200; }));
  }
}

TEST_F(FrontDoorTest, AnEngineThatDoesNotRunIsUnavailable) {
  start();
  for (const auto state : {engine::EngineState::kLoading, engine::EngineState::kDraining,
                           engine::EngineState::kStopped}) {
    engine_->set_state(state);
    EXPECT_EQ(get("/health").status, 503);
    EXPECT_EQ(text_at(post_error(kCompletions, kAsk, 503, std::nullopt), "code"),
              "service_unavailable");
    EXPECT_EQ(get("/v1/models").status, 200);
  }
  engine_->set_state(engine::EngineState::kRunning);
  EXPECT_EQ(get("/health").status, 200);
}

TEST_F(FrontDoorTest, ASequenceThatFailsIsA500OfThatRequestAlone) {
  start();
  reply("abc");
  engine_->fail_sequences_after(2);
  const json::value error = post_error(kCompletions, kAsk, 500, std::nullopt);
  EXPECT_EQ(text_at(error, "type"), "server_error");
  EXPECT_THAT(text_at(error, "message"), HasSubstr("not numbers"));
  EXPECT_EQ(get("/health").status, 200);
}

TEST_F(FrontDoorTest, AStreamThatFailsEndsWithAnErrorEventAndDone) {
  start();
  reply("abc");
  engine_->fail_sequences_after(2);
  const auto events = stream(kCompletions, R"({"prompt":"x","stream":true})");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(text_at(events[1], "choices.0.text"), "b");
  EXPECT_EQ(text_at(events[2], "error.type"), "server_error");
  EXPECT_THAT(text_at(events[2], "error.message"), HasSubstr("not numbers"));
}

TEST_F(FrontDoorTest, WhenTheEngineDiesEveryRequestIsToldAndTheServerStops) {
  start();
  reply("abc");
  engine_->pause();
  HttpClient whole(port());
  whole.send_request("POST", kCompletions, R"({"prompt":"x","n":2})");
  HttpClient streamed(port());
  streamed.send_request("POST", kCompletions, R"({"prompt":"x","stream":true})");
  EXPECT_TRUE(eventually([&] { return engine_->num_live() == 3; }));
  engine_->fail("a step died");
  EXPECT_EQ(whole.read_answer().status, 500);
  const HttpAnswer answer = streamed.read_answer();
  EXPECT_EQ(answer.status, 200);
  const auto events = testing::parse_events(answer.body);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0], HasSubstr("a step died"));
  EXPECT_EQ(events[1], "[DONE]");
  const Status ended = server_->wait();
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().message, "the engine has failed");
}

TEST_F(FrontDoorTest, ANonLoopbackAddressMayBeListenedOn) {
  Setup setup;
  setup.options.host = "0.0.0.0";
  start(setup);
  EXPECT_EQ(get("/health").status, 200);
}

TEST_F(FrontDoorTest, AServerNeedsAName) {
  start();
  const auto second = Server::start({.port = 0}, {.tokenizer = tokenizer_.get()}, *engine_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().param, "served-model-name");
}

TEST_F(FrontDoorTest, APortInUseIsOneClearSentence) {
  start();
  ServerOptions options;
  options.port = port();
  options.served_model_names = {"x"};
  const auto second = Server::start(options, {.tokenizer = tokenizer_.get()}, *engine_);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message,
            str_cat("cannot listen on '127.0.0.1' port ", port(), ": Address already in use"));
}

}  // namespace
}  // namespace tvllm::server
