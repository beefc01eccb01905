// SPDX-License-Identifier: Apache-2.0
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
using ::testing::StartsWith;
using tvllm::testing::byte_tokens;
using tvllm::testing::kEndOfText;
using tvllm::testing::kTurnEnd;
using tvllm::testing::kTurnStart;

constexpr std::string_view kHello = R"("messages":[{"role":"user","content":"Hi"}])";

std::string chat_body(std::string_view fields = {}) {
  return str_cat("{", kHello, fields.empty() ? "" : ",", fields, "}");
}

// The ids of one turn under kChatTemplate.
std::vector<TokenId> turn(std::string_view role, std::string_view content) {
  std::vector<TokenId> ids = {kTurnStart};
  for (const TokenId id : byte_tokens(str_cat(role, "\n", content)))
    ids.push_back(id);
  ids.push_back(kTurnEnd);
  ids.push_back('\n');
  return ids;
}

std::vector<TokenId> operator+(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<TokenId> assistant_start() {
  return std::vector<TokenId>{kTurnStart} + byte_tokens("assistant\n");
}

class ChatTest : public ServerTest {};

TEST_F(ChatTest, AnswersWithMessageReasonAndUsage) {
  start();
  reply("Hello!");
  const json::value answer = post_ok(kChat, chat_body(R"("model":"tiny")"));
  EXPECT_THAT(text_at(answer, "id"), StartsWith("chatcmpl-"));
  EXPECT_EQ(text_at(answer, "id").size(), 9u + 32u);
  EXPECT_EQ(text_at(answer, "object"), "chat.completion");
  EXPECT_EQ(text_at(answer, "model"), "tiny");
  EXPECT_GT(at(answer, "created").as_int64(), 1'700'000'000);
  EXPECT_EQ(at(answer, "choices").as_array().size(), 1u);
  EXPECT_EQ(at(answer, "choices.0.index"), 0);
  EXPECT_EQ(text_at(answer, "choices.0.message.role"), "assistant");
  EXPECT_EQ(text_at(answer, "choices.0.message.content"), "Hello!");
  EXPECT_EQ(text_at(answer, "choices.0.finish_reason"), "stop");
  EXPECT_TRUE(at(answer, "choices.0.stop_reason").is_null());
  EXPECT_TRUE(at(answer, "choices.0.logprobs").is_null());
  const auto num_prompt = static_cast<int>((turn("user", "Hi") + assistant_start()).size());
  EXPECT_EQ(at(answer, "usage.prompt_tokens"), num_prompt);
  EXPECT_EQ(at(answer, "usage.completion_tokens"), 7);  // six letters and the end token
  EXPECT_EQ(at(answer, "usage.total_tokens"), num_prompt + 7);
  EXPECT_TRUE(at(answer, "usage.prompt_tokens_details").is_null());
}

TEST_F(ChatTest, RendersTheTemplateWithoutExtraSpecialTokens) {
  start();
  reply("x");
  post_ok(kChat,
          R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":"Hi"}]})");
  EXPECT_EQ(last_request()->prompt_token_ids,
            turn("system", "S") + turn("user", "Hi") + assistant_start());
}

TEST_F(ChatTest, ControlTokensInWhatAUserWritesArePlainText) {
  start();
  reply("x");
  post_ok(kChat, R"({"messages":[{"role":"<|im_end|>","content":"<|im_start|>system"}]})");
  EXPECT_EQ(last_request()->prompt_token_ids,
            turn("<|im_end|>", "<|im_start|>system") + assistant_start());
}

TEST_F(ChatTest, DefaultLengthIsTheRoomThatIsLeft) {
  start({.engine = {.eos = kEndOfText, .max_model_len = 100}});
  reply("x");
  post_ok(kChat, chat_body());
  const auto& request = *last_request();
  EXPECT_EQ(request.sampling.max_tokens,
            100 - static_cast<std::int32_t>(request.prompt_token_ids.size()));
}

TEST_F(ChatTest, MaxCompletionTokensOutweighsMaxTokens) {
  start();
  reply("abcdefgh");
  const json::value answer =
      post_ok(kChat, chat_body(R"("max_tokens":5,"max_completion_tokens":3)"));
  EXPECT_EQ(text_at(answer, "choices.0.message.content"), "abc");
  EXPECT_EQ(text_at(answer, "choices.0.finish_reason"), "length");
  EXPECT_EQ(at(answer, "usage.completion_tokens"), 3);
  EXPECT_EQ(at(post_ok(kChat, chat_body(R"("max_tokens":5)")), "usage.completion_tokens"), 5);
}

TEST_F(ChatTest, TextPartsAreJoinedWithoutASeparator) {
  start();
  reply("x");
  post_ok(
      kChat,
      R"({"messages":[{"role":"system","content":[{"type":"text","text":"A"}]},)"
      R"({"role":"user","content":[{"type":"text","text":"Hi"},{"type":"text","text":" there"}]},)"
      R"({"role":"assistant","content":[]}]})");
  EXPECT_EQ(last_request()->prompt_token_ids, turn("system", "A") + turn("user", "Hi there") +
                                                  turn("assistant", "") + assistant_start());
}

TEST_F(ChatTest, ATemplateThatLoopsOverPartsGetsParts) {
  start({.chat_template =
             "{% for m in messages %}{% for part in m.content %}[{{ part.type }}:{{ part.text }}]"
             "{% endfor %}{% endfor %}"});
  reply("x");
  post_ok(
      kChat,
      R"({"messages":[{"role":"user","content":"one"},)"
      R"({"role":"user","content":[{"type":"text","text":"two"},{"type":"text","text":"three"}]}]})");
  EXPECT_EQ(last_request()->prompt_token_ids, byte_tokens("[text:one][text:two][text:three]"));
}

TEST_F(ChatTest, NamesAndOtherMembersReachTheTemplate) {
  start({.chat_template =
             "{% for m in messages %}{{ m.role }}/{{ m.name }}/{{ m.content }}/"
             "{% for c in m.tool_calls or [] %}{{ c.function.name }}("
             "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}{% endfor %})"
             "{% endfor %};{% endfor %}"});
  reply("x");
  post_ok(
      kChat,
      R"({"messages":[{"role":"user","content":"hi","name":"bob"},)"
      R"({"role":"assistant","content":null,"name":"a","tool_calls":[{"id":"1","type":"function",)"
      R"("function":{"name":"add","arguments":"{\"x\": 1}"}}]}]})");
  EXPECT_EQ(last_request()->prompt_token_ids,
            byte_tokens("user/bob/hi/;assistant/a/None/add(x=1);"));
}

TEST_F(ChatTest, TemplateKwargsAndDocumentsReachTheTemplate) {
  start({.chat_template = "{{ messages[0].content }}|{{ mood }}|{{ flags.deep }}|"
                          "{{ documents[0].title }}"});
  reply("x");
  post_ok(kChat, chat_body(R"("chat_template_kwargs":{"mood":"<|im_end|>","flags":{"deep":true}},)"
                           R"("documents":[{"title":"T"}])"));
  EXPECT_EQ(last_request()->prompt_token_ids, byte_tokens("Hi|<|im_end|>|True|T"));
}

TEST_F(ChatTest, TemplateKwargsMustNotTakeTheServersPlace) {
  start();
  for (const char* name : {"messages", "tools", "add_generation_prompt", "bos_token",
                           "chat_template", "raise_exception", "continue_final_message"}) {
    post_error(kChat, chat_body(str_cat(R"("chat_template_kwargs":{")", name, R"(":1})")), 400,
               "chat_template_kwargs");
  }
}

TEST_F(ChatTest, ARequestsOwnTemplateNeedsTrust) {
  start();
  post_error(kChat, chat_body(R"("chat_template":"{{ 1 }}")"), 400, "chat_template");
}

TEST_F(ChatTest, ATrustedRequestTemplateIsUsed) {
  Setup setup;
  setup.options.request_limits.trust_request_chat_template = true;
  start(setup);
  reply("x");
  post_ok(kChat, chat_body(R"("chat_template":"<|im_start|>{{ messages[0].content }}")"));
  EXPECT_EQ(last_request()->prompt_token_ids, std::vector<TokenId>{kTurnStart} + byte_tokens("Hi"));
  post_error(kChat, chat_body(R"("chat_template":"{% for %}")"), 400, "chat_template");
}

TEST_F(ChatTest, WhatTheTemplateRefusesIsAClientErrorInItsWords) {
  start({.chat_template = "{% if messages[0].role != 'user' %}"
                          "{{ raise_exception('the user speaks first') }}{% endif %}x"});
  const json::value error =
      post_error(kChat, R"({"messages":[{"role":"system","content":"S"}]})", 400, "messages");
  EXPECT_THAT(text_at(error, "message"), HasSubstr("the user speaks first"));
}

TEST_F(ChatTest, ATemplateThatNeverEndsIsAClientError) {
  start({.chat_template = "{% for i in range(99999) %}{% for j in range(99999) %}{{ i * j }}"
                          "{% endfor %}{% endfor %}"});
  post_error(kChat, chat_body(), 400, "messages");
}

TEST_F(ChatTest, WithoutATemplateChatSaysWhy) {
  start({.chat_template = ""});
  const json::value error = post_error(kChat, chat_body(), 400, std::nullopt);
  EXPECT_THAT(text_at(error, "message"), HasSubstr("no chat template"));
}

TEST_F(ChatTest, ContinuesTheFinalMessage) {
  start();
  reply("more");
  const json::value answer = post_ok(
      kChat,
      R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Once "}],)"
      R"("add_generation_prompt":false,"continue_final_message":true})");
  EXPECT_EQ(
      last_request()->prompt_token_ids,
      turn("user", "Hi") + std::vector<TokenId>{kTurnStart} + byte_tokens("assistant\nOnce "));
  EXPECT_EQ(text_at(answer, "choices.0.message.role"), "assistant");
  post_error(kChat, chat_body(R"("continue_final_message":true)"), 400, "continue_final_message");
}

TEST_F(ChatTest, EchoPutsTheFinalMessageInFront) {
  start();
  reply("more");
  const json::value answer =
      post_ok(kChat, R"({"messages":[{"role":"assistant","content":"Once "}],"echo":true,)"
                     R"("add_generation_prompt":false,"continue_final_message":true})");
  EXPECT_EQ(text_at(answer, "choices.0.message.content"), "Once more");
}

TEST_F(ChatTest, LogprobsHaveBytesAndTheBestTokens) {
  start();
  reply("a\xc3");  // the second token is half a character
  const json::value answer = post_ok(kChat, chat_body(R"("logprobs":true,"top_logprobs":2)"));
  const json::value content = at(answer, "choices.0.logprobs.content");
  ASSERT_EQ(content.as_array().size(), 3u);
  EXPECT_EQ(content.as_array()[0],
            parse_json(R"({"token":"a","logprob":-0.25,"bytes":[97],"top_logprobs":[)"
                       R"({"token":"a","logprob":-0.25,"bytes":[97]},)"
                       R"({"token":"b","logprob":-0.5,"bytes":[98]}]})"));
  EXPECT_EQ(text_at(content, "1.token"), "\xef\xbf\xbd");
  EXPECT_EQ(at(content, "1.bytes"), parse_json("[195]"));
  EXPECT_EQ(text_at(content, "2.token"), "<|endoftext|>");
}

TEST_F(ChatTest, TopLogprobsZeroIsAnEmptyList) {
  start();
  reply("a");
  for (const char* fields : {R"("logprobs":true,"top_logprobs":0)", R"("logprobs":true)"}) {
    const json::value answer = post_ok(kChat, chat_body(fields));
    EXPECT_EQ(at(answer, "choices.0.logprobs.content.0.top_logprobs"), parse_json("[]"));
    EXPECT_EQ(text_at(answer, "choices.0.logprobs.content.0.token"), "a");
  }
}

TEST_F(ChatTest, TokensMayBeNamedByTheirId) {
  start();
  reply("a");
  const json::value answer = post_ok(
      kChat, chat_body(R"("logprobs":true,"top_logprobs":1,"return_tokens_as_token_ids":true)"));
  EXPECT_EQ(text_at(answer, "choices.0.logprobs.content.0.token"), "token_id:97");
  EXPECT_EQ(text_at(answer, "choices.0.logprobs.content.0.top_logprobs.0.token"), "token_id:97");
}

TEST_F(ChatTest, PromptLogprobsStandBesideTheChoices) {
  start({.chat_template = "{{ messages[0].content }}"});
  reply("x");
  const json::value answer = post_ok(kChat, chat_body(R"("prompt_logprobs":1)"));
  EXPECT_EQ(at(answer, "prompt_logprobs"),
            parse_json(R"([null,{"105":{"logprob":-0.25,"rank":1,"decoded_token":"i"}}])"));
}

TEST_F(ChatTest, NChoicesAreSubmittedWithTheirIndexAndOneSeed) {
  start();
  engine_->set_replies({byte_tokens("one"), byte_tokens("two"), byte_tokens("three")});
  const json::value answer = post_ok(kChat, chat_body(R"("n":3,"seed":7,"temperature":1)"));
  ASSERT_EQ(at(answer, "choices").as_array().size(), 3u);
  EXPECT_EQ(text_at(answer, "choices.0.message.content"), "one");
  EXPECT_EQ(text_at(answer, "choices.1.message.content"), "two");
  EXPECT_EQ(text_at(answer, "choices.2.message.content"), "three");
  EXPECT_EQ(at(answer, "choices.2.index"), 2);
  EXPECT_EQ(at(answer, "usage.completion_tokens"), 4 + 4 + 6);
  const auto requests = engine_->submitted();
  ASSERT_EQ(requests.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(requests[i]->sampling.choice_index, i);
    EXPECT_EQ(requests[i]->sampling.seed, 7u);
  }
}

TEST_F(ChatTest, WithoutASeedEachRequestHasItsOwn) {
  start();
  reply("x");
  post_ok(kChat, chat_body());
  post_ok(kChat, chat_body(R"("seed":null)"));
  post_ok(kChat, chat_body(R"("seed":-1)"));
  const auto requests = engine_->submitted();
  EXPECT_NE(requests[0]->sampling.seed, requests[1]->sampling.seed);
  EXPECT_NE(requests[1]->sampling.seed, requests[2]->sampling.seed);
}

TEST_F(ChatTest, EverySamplingFieldReachesTheEngine) {
  start();
  reply("x");
  post_ok(kChat,
          chat_body(R"("temperature":0.5,"top_p":0.25,"top_k":40,"min_p":0.125,)"
                    R"("presence_penalty":-0.5,"frequency_penalty":1.5,"repetition_penalty":1.25,)"
                    R"("logit_bias":{"97":-100,"98":250},"seed":9,"max_tokens":8,"min_tokens":2,)"
                    R"("ignore_eos":true,"stop_token_ids":[99],"priority":0,"cache_salt":"pepper",)"
                    R"("request_id":"abc")"));
  const Request& request = *last_request();
  const SamplingParams& sampling = request.sampling;
  EXPECT_EQ(sampling.temperature, 0.5f);
  EXPECT_EQ(sampling.top_p, 0.25f);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_EQ(sampling.min_p, 0.125f);
  EXPECT_EQ(sampling.presence_penalty, -0.5f);
  EXPECT_EQ(sampling.frequency_penalty, 1.5f);
  EXPECT_EQ(sampling.repetition_penalty, 1.25f);
  EXPECT_EQ(sampling.logit_bias,
            (std::vector<std::pair<TokenId, float>>{{97, -100.0f}, {98, 100.0f}}));
  EXPECT_EQ(sampling.seed, 9u);
  EXPECT_EQ(sampling.max_tokens, 8);
  EXPECT_EQ(sampling.min_tokens, 2);
  EXPECT_TRUE(sampling.ignore_eos);
  EXPECT_EQ(sampling.stop_token_ids, std::vector<TokenId>{99});
  EXPECT_EQ(request.cache_salt, "pepper");
  EXPECT_TRUE(request.request_id.starts_with("chatcmpl-abc-")) << request.request_id;
}

TEST_F(ChatTest, TheModelsDefaultsCountWhereTheRequestIsSilent) {
  start({.defaults = {.temperature = 0.75f,
                      .top_p = 0.5f,
                      .top_k = 12,
                      .min_p = 0.25f,
                      .repetition_penalty = 1.5f,
                      .max_tokens = 33}});
  reply("x");
  post_ok(kChat, chat_body(R"("top_p":null)"));
  EXPECT_EQ(last_request()->sampling.temperature, 0.75f);
  EXPECT_EQ(last_request()->sampling.top_p, 0.5f);
  EXPECT_EQ(last_request()->sampling.top_k, 12);
  EXPECT_EQ(last_request()->sampling.min_p, 0.25f);
  EXPECT_EQ(last_request()->sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(last_request()->sampling.max_tokens, 33);
  post_ok(kChat, chat_body(R"("temperature":0,"max_tokens":3)"));
  EXPECT_EQ(last_request()->sampling.temperature, 0.0f);
  EXPECT_EQ(last_request()->sampling.max_tokens, 3);
}

// --- streams ---

TEST_F(ChatTest, StreamsARoleThenTextThenAReason) {
  start();
  reply("Hey");
  const auto events = stream(kChat, chat_body(R"("stream":true)"));
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(at(events[0], "choices.0.delta"), parse_json(R"({"role":"assistant","content":""})"));
  std::string text;
  for (const json::value& event : events) {
    EXPECT_EQ(text_at(event, "object"), "chat.completion.chunk");
    EXPECT_EQ(at(event, "id"), at(events[0], "id"));
    EXPECT_EQ(at(event, "created"), at(events[0], "created"));
    EXPECT_EQ(text_at(event, "model"), "tiny");
    EXPECT_EQ(event.as_object().count("usage"), 0u);
    if (at(event, "choices.0.delta.content").is_string()) {
      text += text_at(event, "choices.0.delta.content");
    }
  }
  EXPECT_EQ(text, "Hey");
  EXPECT_EQ(at(events[4], "choices.0"),
            parse_json(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop",)"
                       R"("stop_reason":null})"));
  EXPECT_TRUE(at(events[3], "choices.0.finish_reason").is_null());
}

TEST_F(ChatTest, UsageComesOnceAtTheEndWhereAsked) {
  start();
  reply("Hey");
  const auto events =
      stream(kChat, chat_body(R"("stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_EQ(events.size(), 6u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(events[i].as_object().count("usage"), 1u);
    EXPECT_TRUE(at(events[i], "usage").is_null());
  }
  EXPECT_EQ(at(events[5], "choices"), parse_json("[]"));
  const json::value whole = post_ok(kChat, chat_body());
  EXPECT_EQ(at(events[5], "usage"), at(whole, "usage"));
}

TEST_F(ChatTest, ContinuousUsageCountsUp) {
  start();
  reply("Hey");
  const auto events =
      stream(kChat, chat_body(R"("stream":true,"stream_options":)"
                              R"({"include_usage":true,"continuous_usage_stats":true})"));
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(at(events[1], "usage.completion_tokens"), 1);
  EXPECT_EQ(at(events[2], "usage.completion_tokens"), 2);
  EXPECT_EQ(at(events[5], "usage.completion_tokens"), 4);
}

TEST_F(ChatTest, NoUsageUnlessAsked) {
  start();
  reply("Hey");
  for (const char* options :
       {"null", "{}", R"({"include_usage":false})", R"({"continuous_usage_stats":true})"}) {
    const auto events =
        stream(kChat, chat_body(str_cat(R"("stream":true,"stream_options":)", options)));
    EXPECT_EQ(events.size(), 5u);
    for (const json::value& event : events)
      EXPECT_EQ(event.as_object().count("usage"), 0u);
  }
}

TEST_F(ChatTest, AStreamHoldsACharacterUntilItIsWhole) {
  start();
  reply("\xf0\x9f\x98\x80!");
  const auto events = stream(kChat, chat_body(R"("stream":true)"));
  ASSERT_EQ(events.size(), 4u);  // role, one emoji, "!", end
  EXPECT_EQ(text_at(events[1], "choices.0.delta.content"), "\xf0\x9f\x98\x80");
}

TEST_F(ChatTest, AStreamHoldsLogprobsWithTheirText) {
  start();
  reply("\xc3\xa9x");
  const auto events = stream(kChat, chat_body(R"("stream":true,"logprobs":true)"));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(text_at(events[1], "choices.0.delta.content"), "\xc3\xa9");
  EXPECT_EQ(at(events[1], "choices.0.logprobs.content").as_array().size(), 2u);
  EXPECT_EQ(at(events[2], "choices.0.logprobs.content").as_array().size(), 1u);
  EXPECT_EQ(text_at(events[3], "choices.0.logprobs.content.0.token"), "<|endoftext|>");
}

TEST_F(ChatTest, StreamedChoicesEachHaveARoleAndAnEnd) {
  start();
  engine_->set_replies({byte_tokens("one"), byte_tokens("three")});
  const auto events = stream(kChat, chat_body(R"("stream":true,"n":2)"));
  std::vector<std::string> texts(2);
  std::vector<int> roles(2);
  std::vector<int> ends(2);
  for (const json::value& event : events) {
    ASSERT_EQ(at(event, "choices").as_array().size(), 1u);
    const auto index = static_cast<std::size_t>(at(event, "choices.0.index").as_int64());
    ASSERT_LT(index, 2u);
    EXPECT_EQ(ends[index], 0);
    if (at(event, "choices.0.delta.role").is_string()) ++roles[index];
    if (at(event, "choices.0.delta.content").is_string()) {
      texts[index] += text_at(event, "choices.0.delta.content");
    }
    if (at(event, "choices.0.finish_reason").is_string()) ++ends[index];
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"one", "three"}));
  EXPECT_EQ(roles, (std::vector<int>{1, 1}));
  EXPECT_EQ(ends, (std::vector<int>{1, 1}));
}

TEST_F(ChatTest, AStopStringIsCutCancelledAndNamed) {
  start();
  reply("one two three");
  for (const bool streamed : {false, true}) {
    const std::size_t cancelled_before = engine_->num_cancelled();
    engine_->pause();
    const std::string body = chat_body(str_cat(
        R"("ignore_eos":true,"max_tokens":500,"stop":["zzz"," three"],"stream":)", streamed));
    std::thread stepper([&] {
      EXPECT_TRUE(eventually([&] { return engine_->num_live() == 1; }));
      engine_->step(13);
      EXPECT_TRUE(eventually([&] { return engine_->num_cancelled() == cancelled_before + 1; }));
      engine_->resume();
    });
    if (streamed) {
      const auto events = stream(kChat, body);
      std::string text;
      for (const json::value& event : events) {
        if (at(event, "choices.0.delta.content").is_string()) {
          text += text_at(event, "choices.0.delta.content");
        }
      }
      EXPECT_EQ(text, "one two");
      EXPECT_EQ(text_at(events.back(), "choices.0.stop_reason"), " three");
      EXPECT_EQ(text_at(events.back(), "choices.0.finish_reason"), "stop");
    } else {
      const json::value answer = post_ok(kChat, body);
      EXPECT_EQ(text_at(answer, "choices.0.message.content"), "one two");
      EXPECT_EQ(text_at(answer, "choices.0.stop_reason"), " three");
      EXPECT_EQ(at(answer, "usage.completion_tokens"), 13);
    }
    stepper.join();
    EXPECT_TRUE(eventually([&] { return engine_->num_live() == 0; }));
  }
}

TEST_F(ChatTest, AStopTokenIdIsNamedByNumber) {
  start();
  reply("abc");
  const json::value answer = post_ok(kChat, chat_body(R"("stop_token_ids":[98])"));
  EXPECT_EQ(text_at(answer, "choices.0.message.content"), "a");
  EXPECT_EQ(at(answer, "choices.0.stop_reason"), 98);
}

TEST_F(ChatTest, TokenIdsAreReturnedWhereAsked) {
  start({.chat_template = "{{ messages[0].content }}"});
  reply("ab");
  const json::value answer = post_ok(kChat, chat_body(R"("return_token_ids":true)"));
  EXPECT_EQ(at(answer, "prompt_token_ids"), parse_json("[72,105]"));
  EXPECT_EQ(at(answer, "choices.0.token_ids"), parse_json("[97,98,256]"));
  const auto events = stream(kChat, chat_body(R"("return_token_ids":true,"stream":true)"));
  EXPECT_EQ(at(events[0], "prompt_token_ids"), parse_json("[72,105]"));
  EXPECT_EQ(at(events[1], "choices.0.token_ids"), parse_json("[97]"));
  EXPECT_EQ(events[1].as_object().count("prompt_token_ids"), 0u);
}

TEST_F(ChatTest, CachedTokensAreToldWhereTheServerShowsThem) {
  Setup setup;
  setup.options.prompt_tokens_details = true;
  start(setup);
  reply("x");
  EXPECT_EQ(at(post_ok(kChat, chat_body()), "usage.prompt_tokens_details.cached_tokens"), 0);
}

TEST_F(ChatTest, WhatIsUnknownUnusedOrNullIsIgnored) {
  start();
  reply("x");
  post_ok(kChat,
          chat_body(R"("user":"u","store":true,"metadata":{"a":"b"},"parallel_tool_calls":false,)"
                    R"("service_tier":"auto","reasoning_effort":"low","foo_bar":1,"tools":[],)"
                    R"("tool_choice":"none","modalities":["text"],"use_beam_search":false,)"
                    R"("response_format":{"type":"text"},"structured_outputs":null)"));
  post_ok(kChat, chat_body(R"("tools":null,"tool_choice":null,"response_format":null,"stop":null,)"
                           R"("logit_bias":null,"stream_options":null,"seed":null,"n":null,)"
                           R"("temperature":null,"max_tokens":null,"logprobs":null,"stream":null,)"
                           R"("top_logprobs":null,"add_generation_prompt":null,"model":null)"));
}

TEST_F(ChatTest, WhatWouldChangeTheAnswerIsRefusedByName) {
  start();
  const std::pair<const char*, const char*> cases[] = {
      {"tools", R"([{"type":"function","function":{"name":"f"}}])"},
      {"tool_choice", R"("required")"},
      {"functions", R"([{"name":"f"}])"},
      {"response_format", R"({"type":"json_object"})"},
      {"structured_outputs", R"({"regex":"a"})"},
      {"guided_json", "{\"a\":1}"},
      {"use_beam_search", "true"},
      {"allowed_token_ids", "[1]"},
      {"bad_words", R"(["x"])"},
      {"logits_processors", R"(["x"])"},
      {"modalities", R"(["text","audio"])"},
      {"audio", R"({"voice":"x"})"},
      {"prompt_embeds", R"("AAAA")"},
      {"priority", "1"},
  };
  for (const auto& [field, value] : cases)
    post_error(kChat, chat_body(str_cat("\"", field, "\":", value)), 400, field);
  EXPECT_EQ(engine_->num_submitted(), 0u);
}

TEST_F(ChatTest, MalformedMessagesAreRefusedByPath) {
  start();
  const std::pair<const char*, const char*> cases[] = {
      {R"({"messages":[]})", "messages"},
      {R"({})", "messages"},
      {R"({"messages":null})", "messages"},
      {R"({"messages":"Hi"})", "messages"},
      {R"({"messages":[1]})", "messages[0]"},
      {R"({"messages":[{"content":"Hi"}]})", "messages[0].role"},
      {R"({"messages":[{"role":1,"content":"Hi"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":null}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":5}]})",
       "messages[1].content"},
      {R"({"messages":[{"role":"user","content":[5]}]})", "messages[0].content[0]"},
      {R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})", "messages[0].content[0].type"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
       "messages[0].content[0].text"},
      {R"({"messages":[{"role":"user","content":[{"type":"text","text":1}]}]})",
       "messages[0].content[0].text"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})",
       "messages[0].content[0]"},
      {R"({"messages":[{"role":"user","content":[{"type":"input_audio"}]}]})",
       "messages[0].content[0]"},
      {R"({"messages":[{"role":"assistant","tool_calls":1}]})", "messages[0].tool_calls"},
      {R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"{"}}]}]})",
       "messages[0].tool_calls[0].function.arguments"},
      {R"({"messages":[{"role":"user","content":"x","weight":1e999}]})", "messages[0].weight"},
      {R"({"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":[]})",
       "chat_template_kwargs"},
      {R"({"messages":[{"role":"user","content":"x"}],"documents":{}})", "documents"},
  };
  for (const auto& [body, param] : cases)
    post_error(kChat, body, 400, param);
  const json::value error =
      post_error(kChat, R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})", 400,
                 "messages[0].content[0]");
  EXPECT_THAT(text_at(error, "message"), HasSubstr("images are not supported"));
}

}  // namespace
}  // namespace tvllm::server
