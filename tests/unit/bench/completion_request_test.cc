// SPDX-License-Identifier: Apache-2.0
#include "bench/completion_request.h"

#include <gtest/gtest.h>

namespace tvllm::bench {
namespace {

const std::vector<BenchPrompt> kPrompts = {
    {.text = "one \"two\"", .num_tokens = 2, .num_output_tokens = 9}};

TEST(CompletionRequestTest, ACompletionAsksForAStreamWithItsUsage) {
  const auto bodies = completion_bodies({.model = "m"}, kPrompts);
  ASSERT_TRUE(bodies.has_value());
  EXPECT_EQ(bodies->front(), R"({"model":"m","prompt":"one \"two\"","max_tokens":9,"stream":true,)"
                             R"("stream_options":{"include_usage":true}})");
}

TEST(CompletionRequestTest, AChatHasThePromptAsItsMessage) {
  const auto bodies =
      completion_bodies({.model = "m", .is_chat = true, .ignore_eos = true}, kPrompts);
  ASSERT_TRUE(bodies.has_value());
  EXPECT_EQ(bodies->front(),
            R"({"model":"m","messages":[{"role":"user","content":"one \"two\""}],)"
            R"("max_completion_tokens":9,"stream":true,"stream_options":{"include_usage":true},)"
            R"("ignore_eos":true})");
}

TEST(CompletionRequestTest, CountsStayCountsAndTheExtraBodyHasTheLastWord) {
  const auto bodies = completion_bodies({.model = "m",
                                         .logprobs = 2,
                                         .sampling = {{"top_k", 40.0}, {"temperature", 0.5}},
                                         .extra_body = R"({"max_tokens":3,"x":[1]})"},
                                        kPrompts);
  ASSERT_TRUE(bodies.has_value());
  EXPECT_EQ(bodies->front(),
            R"({"model":"m","prompt":"one \"two\"","max_tokens":3,"logprobs":2,"stream":true,)"
            R"("stream_options":{"include_usage":true},"top_k":40,"temperature":5E-1,"x":[1]})");
}

TEST(CompletionRequestTest, AnExtraBodyMustBeAnObject) {
  for (const char* const text : {"{", "[]", "7"}) {
    const auto bodies = completion_bodies({.extra_body = text}, kPrompts);
    ASSERT_FALSE(bodies.has_value()) << text;
    EXPECT_EQ(bodies.error().param, "extra-body");
  }
}

TEST(CompletionRequestTest, TheFirstModelIsTheOneAsked) {
  EXPECT_EQ(first_model_id(R"({"data":[{"id":"a"},{"id":"b"}]})"), "a");
  for (const char* const body : {"", "{}", "[]", R"({"data":[]})", R"({"data":[{}]})",
                                 R"({"data":[{"id":7}]})", R"({"data":{"id":"a"}})"}) {
    EXPECT_EQ(first_model_id(body), std::nullopt) << body;
  }
}

}  // namespace
}  // namespace tvllm::bench
