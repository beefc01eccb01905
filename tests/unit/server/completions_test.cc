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

class CompletionsTest : public ServerTest {};

TEST_F(CompletionsTest, ContinuesAText) {
  start();
  reply(" world");
  const json::value answer = post_ok(kCompletions, R"({"prompt":"Hello","model":"tiny"})");
  EXPECT_THAT(text_at(answer, "id"), StartsWith("cmpl-"));
  EXPECT_EQ(text_at(answer, "object"), "text_completion");
  EXPECT_EQ(at(answer, "choices.0.index"), 0);
  EXPECT_EQ(text_at(answer, "choices.0.text"), " world");
  EXPECT_TRUE(at(answer, "choices.0.logprobs").is_null());
  EXPECT_EQ(text_at(answer, "choices.0.finish_reason"), "stop");
  EXPECT_EQ(at(answer, "usage"),
            parse_json(R"({"prompt_tokens":5,"completion_tokens":7,"total_tokens":12})"));
  EXPECT_EQ(last_request()->prompt_token_ids, byte_tokens("Hello"));
}

TEST_F(CompletionsTest, SixteenTokensAreTheDefault) {
  start();
  reply("0123456789abcdefghij");
  const json::value answer = post_ok(kCompletions, R"({"prompt":"x"})");
  EXPECT_EQ(text_at(answer, "choices.0.text"), "0123456789abcdef");
  EXPECT_EQ(text_at(answer, "choices.0.finish_reason"), "length");
}

TEST_F(CompletionsTest, PromptsComeInFourForms) {
  start();
  reply("x");
  const std::pair<const char*, std::vector<std::vector<TokenId>>> cases[] = {
      {R"("ab")", {{97, 98}}},
      {R"(["ab","c"])", {{97, 98}, {99}}},
      {R"([1,2.0,263])", {{1, 2, 263}}},
      {R"([[1,2],[3]])", {{1, 2}, {3}}},
  };
  for (const auto& [prompt, expected] : cases) {
    const std::size_t before = engine_->num_submitted();
    const json::value answer = post_ok(kCompletions, str_cat(R"({"prompt":)", prompt, "}"));
    const auto requests = engine_->submitted();
    ASSERT_EQ(requests.size(), before + expected.size()) << prompt;
    ASSERT_EQ(at(answer, "choices").as_array().size(), expected.size()) << prompt;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(requests[before + i]->prompt_token_ids, expected[i]) << prompt;
      EXPECT_EQ(at(answer, str_cat("choices.", i, ".index")), i);
    }
  }
}

TEST_F(CompletionsTest, ChoicesAreNumberedPromptByPrompt) {
  start();
  engine_->set_replies({byte_tokens("A"), byte_tokens("B")});
  const json::value answer =
      post_ok(kCompletions, R"({"prompt":["one","three"],"n":2,"temperature":1,"best_of":2})");
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(at(answer, str_cat("choices.", i, ".index")), i);
    EXPECT_EQ(text_at(answer, str_cat("choices.", i, ".text")), i % 2 == 0 ? "A" : "B");
  }
  const auto requests = engine_->submitted();
  EXPECT_EQ(requests[1]->prompt_token_ids, byte_tokens("one"));
  EXPECT_EQ(requests[2]->prompt_token_ids, byte_tokens("three"));
  // Each prompt counts once.
  EXPECT_EQ(at(answer, "usage.prompt_tokens"), 8);
  EXPECT_EQ(at(answer, "usage.completion_tokens"), 8);
}

TEST_F(CompletionsTest, ControlTokensInAPromptAreRead) {
  start();
  reply("x");
  post_ok(kCompletions, R"({"prompt":"a<|im_end|>"})");
  EXPECT_EQ(last_request()->prompt_token_ids, (std::vector<TokenId>{97, 258}));
}

TEST_F(CompletionsTest, LogprobsHaveOffsetsTokensAndTheBestOnes) {
  start();
  reply("a\xc3\xa9z");
  const json::value answer = post_ok(kCompletions, R"({"prompt":"x","logprobs":1,"max_tokens":4})");
  EXPECT_EQ(at(answer, "choices.0.logprobs"),
            parse_json("{\"text_offset\":[0,1,1,2],"
                       "\"token_logprobs\":[-0.25,-0.25,-0.25,-0.25],"
                       "\"tokens\":[\"a\",\"\\ufffd\",\"\\ufffd\",\"z\"],"
                       "\"top_logprobs\":[{\"a\":-0.25},{\"\\ufffd\":-0.25},{\"\\ufffd\":-0.25},"
                       "{\"z\":-0.25}]}"));
}

TEST_F(CompletionsTest, LogprobsZeroIsTheChosenTokenAlone) {
  start();
  reply("a");
  const json::value answer = post_ok(kCompletions, R"({"prompt":"x","logprobs":0,"max_tokens":1})");
  EXPECT_EQ(at(answer, "choices.0.logprobs"),
            parse_json(R"({"text_offset":[0],"token_logprobs":[-0.25],"tokens":["a"],)"
                       R"("top_logprobs":[{"a":-0.25}]})"));
  EXPECT_EQ(last_request()->sampling.num_logprobs, 0);
}

TEST_F(CompletionsTest, TokensMayBeNamedByTheirId) {
  start();
  reply("a");
  const json::value answer =
      post_ok(kCompletions,
              R"({"prompt":"x","logprobs":2,"max_tokens":1,"return_tokens_as_token_ids":true})");
  EXPECT_EQ(at(answer, "choices.0.logprobs.tokens"), parse_json(R"(["token_id:97"])"));
  EXPECT_EQ(at(answer, "choices.0.logprobs.top_logprobs.0"),
            parse_json(R"({"token_id:97":-0.25,"token_id:98":-0.5})"));
}

TEST_F(CompletionsTest, EchoPutsThePromptInFront) {
  start();
  reply("!");
  EXPECT_EQ(text_at(post_ok(kCompletions, R"({"prompt":"Hello","echo":true})"), "choices.0.text"),
            "Hello!");
  EXPECT_EQ(text_at(post_ok(kCompletions, R"({"prompt":[72,105],"echo":true})"), "choices.0.text"),
            "Hi!");
}

TEST_F(CompletionsTest, EchoWithLogprobsShowsThePromptsTokensToo) {
  start();
  reply("yz");
  const json::value answer =
      post_ok(kCompletions, R"({"prompt":"\u00e9b","echo":true,"logprobs":1,"max_tokens":2})");
  EXPECT_EQ(text_at(answer, "choices.0.text"),
            "\xc3\xa9"
            "byz");
  EXPECT_EQ(at(answer, "choices.0.logprobs"),
            parse_json("{\"text_offset\":[0,0,1,2,3],"
                       "\"token_logprobs\":[null,-0.25,-0.25,-0.25,-0.25],"
                       "\"tokens\":[\"\\ufffd\",\"\\ufffd\",\"b\",\"y\",\"z\"],"
                       "\"top_logprobs\":[null,{\"\\ufffd\":-0.25},{\"b\":-0.25},{\"y\":-0.25},"
                       "{\"z\":-0.25}]}"));
  EXPECT_EQ(last_request()->sampling.num_prompt_logprobs, 1);
  EXPECT_TRUE(at(answer, "choices.0.prompt_logprobs").is_null());
}

TEST_F(CompletionsTest, EchoWithoutTokensScoresThePromptAlone) {
  start();
  reply("yz");
  for (const char* prompt : {R"("ab")", "[97,98]"}) {
    const json::value answer =
        post_ok(kCompletions,
                str_cat(R"({"prompt":)", prompt, R"(,"echo":true,"logprobs":0,"max_tokens":0})"));
    EXPECT_EQ(text_at(answer, "choices.0.text"), "ab");
    EXPECT_EQ(at(answer, "choices.0.logprobs.tokens"), parse_json(R"(["a","b"])"));
    EXPECT_EQ(at(answer, "choices.0.logprobs.token_logprobs"), parse_json("[null,-0.25]"));
    EXPECT_EQ(text_at(answer, "choices.0.finish_reason"), "length");
    EXPECT_EQ(at(answer, "usage.completion_tokens"), 0);
  }
  post_error(kCompletions, R"({"prompt":"ab","max_tokens":0})", 400, "max_tokens");
}

TEST_F(CompletionsTest, PromptLogprobsAreAFieldOfTheChoice) {
  start();
  reply("x");
  const json::value answer = post_ok(kCompletions, R"({"prompt":"ab","prompt_logprobs":2})");
  EXPECT_EQ(at(answer, "choices.0.prompt_logprobs"),
            parse_json(R"([null,{"98":{"logprob":-0.25,"rank":1,"decoded_token":"b"},)"
                       R"("99":{"logprob":-0.5,"rank":2,"decoded_token":"c"}}])"));
  post_error(kCompletions, R"({"prompt":"ab","prompt_logprobs":2,"stream":true})", 400,
             "prompt_logprobs");
}

TEST_F(CompletionsTest, StreamsTextThenAReason) {
  start();
  reply("ab");
  const auto events = stream(kCompletions, R"({"prompt":"x","stream":true})");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(at(events[0], "choices.0"),
            parse_json(R"({"index":0,"text":"a","logprobs":null,"finish_reason":null})"));
  EXPECT_EQ(at(events[2], "choices.0"),
            parse_json(R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop",)"
                       R"("stop_reason":null})"));
  EXPECT_EQ(text_at(events[0], "object"), "text_completion");
}

TEST_F(CompletionsTest, ALastTokenWithTextCarriesTheReason) {
  start();
  reply("ab");
  const auto events = stream(kCompletions, R"({"prompt":"x","stream":true,"max_tokens":2})");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(text_at(events[1], "choices.0.text"), "b");
  EXPECT_EQ(text_at(events[1], "choices.0.finish_reason"), "length");
}

TEST_F(CompletionsTest, AStreamEchoesOnceInFront) {
  start();
  reply("yz");
  const auto events = stream(
      kCompletions, R"({"prompt":"ab","stream":true,"echo":true,"logprobs":0,"max_tokens":2})");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(text_at(events[0], "choices.0.text"), "ab");
  EXPECT_EQ(at(events[0], "choices.0.logprobs.token_logprobs"), parse_json("[null,-0.25]"));
  EXPECT_EQ(at(events[0], "choices.0.logprobs.text_offset"), parse_json("[0,1]"));
  EXPECT_EQ(at(events[1], "choices.0.logprobs.text_offset"), parse_json("[2]"));
  EXPECT_EQ(at(events[2], "choices.0.logprobs.text_offset"), parse_json("[3]"));
}

TEST_F(CompletionsTest, AStreamOfTheEchoAlone) {
  start();
  reply("yz");
  const auto events =
      stream(kCompletions, R"({"prompt":"ab","stream":true,"echo":true,"max_tokens":0})");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(text_at(events[0], "choices.0.text"), "ab");
  EXPECT_EQ(text_at(events[1], "choices.0.text"), "");
  EXPECT_EQ(text_at(events[1], "choices.0.finish_reason"), "length");
}

TEST_F(CompletionsTest, StreamAndWholeAnswerSayTheSame) {
  start();
  reply("alpha \xe6\x97\xa5 beta gamma");
  for (const char* fields :
       {R"("max_tokens":30)", R"("max_tokens":9)", R"("max_tokens":30,"stop":["bet"])",
        R"("max_tokens":30,"stop":["bet"],"include_stop_str_in_output":true)",
        R"("max_tokens":30,"logprobs":2)", R"("max_tokens":30,"echo":true,"logprobs":2)",
        R"("max_tokens":30,"stop_token_ids":[103])", R"("max_tokens":30,"n":2)",
        R"("max_tokens":30,"return_token_ids":true)"}) {
    const json::value whole =
        post_ok(kCompletions, str_cat(R"({"prompt":["x","yy"],)", fields, "}"));
    const auto events = stream(kCompletions, str_cat(R"({"prompt":["x","yy"],"stream":true,)"
                                                     R"("stream_options":{"include_usage":true},)",
                                                     fields, "}"));
    const json::array choices = at(whole, "choices").as_array();
    for (std::size_t i = 0; i < choices.size(); ++i) {
      std::string text;
      json::array offsets, logprobs, ids;
      json::value reason, stop_reason;
      for (const json::value& event : events) {
        if (at(event, "choices.0.index") != i) continue;
        text += text_at(event, "choices.0.text");
        const auto extend = [&](json::array& out, std::string_view path) {
          const json::value list = at(event, path);
          if (list.is_array())
            out.insert(out.end(), list.as_array().begin(), list.as_array().end());
        };
        extend(offsets, "choices.0.logprobs.text_offset");
        extend(logprobs, "choices.0.logprobs.token_logprobs");
        extend(ids, "choices.0.token_ids");
        if (at(event, "choices.0.finish_reason").is_string()) {
          reason = at(event, "choices.0.finish_reason");
          stop_reason = at(event, "choices.0.stop_reason");
        }
      }
      EXPECT_EQ(text, text_at(choices[i], "text")) << fields;
      EXPECT_EQ(reason, at(choices[i], "finish_reason")) << fields;
      EXPECT_EQ(stop_reason, at(choices[i], "stop_reason")) << fields;
      if (at(choices[i], "logprobs").is_object()) {
        EXPECT_EQ(offsets, at(choices[i], "logprobs.text_offset")) << fields;
        EXPECT_EQ(logprobs, at(choices[i], "logprobs.token_logprobs")) << fields;
      }
      if (at(choices[i], "token_ids").is_array()) {
        EXPECT_EQ(ids, at(choices[i], "token_ids")) << fields;
      }
    }
    EXPECT_EQ(at(events.back(), "usage"), at(whole, "usage")) << fields;
  }
}

TEST_F(CompletionsTest, ImpossiblePromptsAreRefused) {
  start();
  for (const char* prompt :
       {"null",        "5",          "true",         "{}",          "[]",
        "[[]]",        R"([""])",    R"("")",        R"(["a",""])", R"(["a",1])",
        R"([1,"a"])",  "[[1],2]",    R"([[1],"a"])", "[true]",      "[null]",
        "[1,null]",    "[1.5]",      "[1,-1]",       "[264]",       "[1,99999999999]",
        "[[1],[264]]", R"([["a"]])", "[{}]"}) {
    post_error(kCompletions, str_cat(R"({"prompt":)", prompt, "}"), 400, "prompt");
  }
  post_error(kCompletions, "{}", 400, "prompt");
  EXPECT_EQ(engine_->num_submitted(), 0u);
}

TEST_F(CompletionsTest, APromptBeyondTheContextNamesBothNumbers) {
  start({.engine = {.eos = kEndOfText, .max_model_len = 64}});
  reply("x");
  for (const std::size_t length : {64, 65, 1000, 100'000}) {
    for (const char* streamed : {"false", "true"}) {
      const json::value error = post_error(kCompletions,
                                           str_cat(R"({"prompt":")", std::string(length, 'a'),
                                                   R"(","max_tokens":1,"stream":)", streamed, "}"),
                                           400, "prompt");
      EXPECT_EQ(text_at(error, "code"), "context_length_exceeded");
      EXPECT_THAT(text_at(error, "message"), HasSubstr("64 tokens"));
      if (length <= 65) {
        EXPECT_THAT(text_at(error, "message"), HasSubstr(str_cat(length, " tokens")));
      }
    }
  }
  const std::string fits(63, 'a');
  const json::value answer =
      post_ok(kCompletions, str_cat(R"({"prompt":")", fits, R"(","max_tokens":1})"));
  EXPECT_EQ(at(answer, "usage.completion_tokens"), 1);
  // Without max_tokens the default is cut to the room.
  post_ok(kCompletions, str_cat(R"({"prompt":")", fits, R"("})"));
  EXPECT_EQ(last_request()->sampling.max_tokens, 1);
}

TEST_F(CompletionsTest, MoreTokensThanRoomAreRefusedWithoutNegativeNumbers) {
  start({.engine = {.eos = kEndOfText, .max_model_len = 64}});
  reply("x");
  post_ok(kCompletions, R"({"prompt":"abcd","max_tokens":60})");
  for (const char* value : {"61", "2147483647", "2147483648", "9223372036854775807"}) {
    const json::value error = post_error(
        kCompletions, str_cat(R"({"prompt":"abcd","max_tokens":)", value, "}"), 400, "max_tokens");
    EXPECT_EQ(text_at(error, "code"), "context_length_exceeded");
    EXPECT_EQ(text_at(error, "message").find('-'), std::string::npos);
  }
  for (const char* value :
       {"0", "-1", "-5", "1.5", "\"5\"", "true", "9223372036854775808", "1e400"}) {
    post_error(kCompletions, str_cat(R"({"prompt":"abcd","max_tokens":)", value, "}"), 400,
               "max_tokens");
  }
  post_ok(kCompletions, R"({"prompt":"abcd","max_tokens":5.0})");
  EXPECT_EQ(last_request()->sampling.max_tokens, 5);
}

TEST_F(CompletionsTest, PromptsCanBeTruncated) {
  start({.engine = {.eos = kEndOfText, .max_model_len = 20}});
  reply("x");
  const auto prompt_of = [&](std::string_view fields) {
    const json::value answer =
        post_ok(kCompletions,
                str_cat(R"({"prompt":"abcdefghijklmnopqrstuvwxyz","max_tokens":4,"echo":true,)",
                        fields, "}"));
    const std::string text = text_at(answer, "choices.0.text");
    return text.substr(0, text.size() - 1);  // without the reply
  };
  EXPECT_EQ(prompt_of(R"("truncate_prompt_tokens":3)"), "xyz");
  EXPECT_EQ(prompt_of(R"("truncate_prompt_tokens":3,"truncation_side":"right")"), "abc");
  EXPECT_EQ(prompt_of(R"("truncate_prompt_tokens":-1)"), "klmnopqrstuvwxyz");
  for (const char* value : {"0", "-2", "21", "\"x\""}) {
    post_error(kCompletions, str_cat(R"({"prompt":"a","truncate_prompt_tokens":)", value, "}"), 400,
               "truncate_prompt_tokens");
  }
}

TEST_F(CompletionsTest, MoreChoicesThanTheServerCouldEverTakeAreRefused) {
  Setup setup;
  setup.options.max_queued_requests = 6;
  setup.options.max_num_seqs = 2;
  start(setup);
  reply("x");
  post_ok(kCompletions, R"({"prompt":["a","b","c","d"],"n":2})");
  post_error(kCompletions, R"({"prompt":["a","b","c","d","e"],"n":2})", 400, "prompt");
  post_error(kCompletions, R"({"prompt":"a","n":9})", 400, "n");
  EXPECT_EQ(engine_->num_submitted(), 8u);
}

TEST_F(CompletionsTest, WhatIsNotDoneIsRefusedByName) {
  start();
  post_error(kCompletions, R"({"prompt":"a","suffix":"b"})", 400, "suffix");
  post_error(kCompletions, R"({"prompt":"a","best_of":2})", 400, "best_of");
  post_error(kChat, R"({"messages":[{"role":"user","content":"a"}],"best_of":1000000})", 400,
             "best_of");
  post_error(kCompletions, R"({"prompt":"a","n":2,"best_of":1})", 400, "best_of");
  post_error(kCompletions, R"({"prompt":"a","n":2,"temperature":0})", 400, "n");
  post_error(kCompletions, R"({"prompt":"a","stream_options":{"include_usage":true}})", 400,
             "stream_options");
}

TEST_F(CompletionsTest, TokenizeAndDetokenizeAreInverse) {
  start();
  const json::value tokens =
      post_ok("/tokenize", R"({"prompt":"a\u00e9","return_token_strs":true})");
  EXPECT_EQ(at(tokens, "tokens"), parse_json("[97,195,169]"));
  EXPECT_EQ(at(tokens, "count"), 3);
  EXPECT_EQ(at(tokens, "max_model_len"), 1024);
  EXPECT_EQ(text_at(tokens, "token_strs.0"), "a");
  const json::value text = post_ok("/detokenize", R"({"tokens":[97,195,169]})");
  EXPECT_EQ(text_at(text, "prompt"), "a\xc3\xa9");
  const json::value chat = post_ok(
      "/tokenize", R"({"messages":[{"role":"user","content":"x"}],"add_generation_prompt":false})");
  EXPECT_EQ(at(chat, "tokens"), parse_json("[257,117,115,101,114,10,120,258,10]"));
  post_error("/tokenize", "{}", 400, "prompt");
  post_error("/tokenize", R"({"prompt":1})", 400, "prompt");
  post_error("/detokenize", R"({"tokens":[264]})", 400, "tokens");
  post_error("/detokenize", R"({"tokens":"a"})", 400, "tokens");
  post_error("/detokenize", "{}", 400, "tokens");
}

}  // namespace
}  // namespace tvllm::server
