// SPDX-License-Identifier: Apache-2.0
#include "bench/completion_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tvllm::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompletionStreamTest : public ::testing::Test {
 protected:
  CompletionStreamTest() { outcome_.start = 10.0; }

  RequestOutcome outcome_;
  CompletionStream stream_{outcome_};
};

TEST_F(CompletionStreamTest, KeepsWhenTextCameAndWhatTheServerCounted) {
  stream_.take_in(R"({"choices":[{"text":"Hello","finish_reason":null}]})", 10.5);
  stream_.take_in(R"({"choices":[{"text":" you"}]})", 10.75);
  stream_.take_in(R"({"choices":[{"text":"!"}]})", 11.75);
  stream_.take_in(R"({"choices":[{"text":"","finish_reason":"length"}]})", 12.0);
  stream_.take_in(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}})", 12.0);
  stream_.take_in("[DONE]", 12.0);
  stream_.finish();
  EXPECT_TRUE(outcome_.success) << outcome_.error;
  EXPECT_DOUBLE_EQ(outcome_.ttft, 0.5);
  EXPECT_THAT(outcome_.itls, ElementsAre(0.25, 1.0));
  EXPECT_DOUBLE_EQ(outcome_.latency, 1.75);
  EXPECT_EQ(outcome_.num_prompt_tokens, 7);
  EXPECT_EQ(outcome_.num_output_tokens, 5);
  EXPECT_EQ(outcome_.text, "Hello you!");
}

TEST_F(CompletionStreamTest, TheRoleOfAChatIsNoTokenAndThoughtsAreText) {
  stream_.take_in(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})", 10.1);
  stream_.take_in(R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})", 11.0);
  stream_.take_in(R"({"choices":[{"delta":{"content":"yes"}}],"usage":null})", 12.0);
  stream_.take_in(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})", 12.5);
  stream_.take_in("[DONE]", 13.0);
  stream_.finish();
  EXPECT_TRUE(outcome_.success) << outcome_.error;
  EXPECT_DOUBLE_EQ(outcome_.ttft, 1.0);
  EXPECT_DOUBLE_EQ(outcome_.latency, 2.0);
  EXPECT_EQ(outcome_.num_output_tokens, 2);  // pieces, as the server counted nothing
  EXPECT_EQ(outcome_.text, "hmyes");
}

TEST_F(CompletionStreamTest, AnAnswerOfOneEndTokenHasNoTextAndIsSound) {
  stream_.take_in(R"({"choices":[{"text":"","finish_reason":"stop"}]})", 10.5);
  stream_.take_in(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}})", 10.5);
  stream_.take_in("[DONE]", 10.5);
  stream_.finish();
  EXPECT_TRUE(outcome_.success) << outcome_.error;
  EXPECT_DOUBLE_EQ(outcome_.ttft, 0.5);
  EXPECT_DOUBLE_EQ(outcome_.latency, 0.5);
  EXPECT_EQ(outcome_.num_output_tokens, 1);
  EXPECT_THAT(outcome_.itls, IsEmpty());
}

TEST_F(CompletionStreamTest, AStreamWithoutAnEndHasFailed) {
  stream_.take_in(R"({"choices":[{"text":"a"}]})", 10.5);
  stream_.finish();
  EXPECT_FALSE(outcome_.success);
  EXPECT_THAT(outcome_.error, HasSubstr("[DONE]"));
}

TEST_F(CompletionStreamTest, AStreamOfNothingHasFailed) {
  stream_.take_in("[DONE]", 10.5);
  stream_.finish();
  EXPECT_FALSE(outcome_.success);
  EXPECT_EQ(outcome_.error, "no token came");
}

TEST_F(CompletionStreamTest, AnErrorInTheStreamIsToldAndWhatFollowsChangesNothing) {
  stream_.take_in(R"({"choices":[{"text":"a"}]})", 10.5);
  stream_.take_in(R"({"error":{"message":"the engine died","code":500}})", 11.0);
  stream_.take_in(R"({"choices":[{"text":"b"}]})", 11.5);
  stream_.take_in("[DONE]", 11.5);
  stream_.finish();
  EXPECT_FALSE(outcome_.success);
  EXPECT_EQ(outcome_.error, "in the stream: 'the engine died'");
  EXPECT_EQ(outcome_.text, "a");
}

TEST_F(CompletionStreamTest, WhatIsNoEventOfTheApiHurtsNobody) {
  for (const char* const data :
       {"{", "", "[]", "7", R"({"choices":7})", R"({"choices":[7]})", R"({"choices":[{"text":7}]})",
        R"({"choices":[{"delta":[]}],"usage":{"prompt_tokens":"x","completion_tokens":-4}})"}) {
    RequestOutcome outcome;
    CompletionStream stream(outcome);
    stream.take_in(data, 1.0);
    stream.finish();
    EXPECT_FALSE(outcome.success) << data;
    EXPECT_FALSE(outcome.error.empty()) << data;
  }
}

TEST(ErrorSentenceTest, IsTheMessageOfTheApiOrTheBodysBeginning) {
  EXPECT_EQ(error_sentence(R"({"error":{"message":"no such model"}})"), "'no such model'");
  EXPECT_EQ(error_sentence(R"({"error":"no such model"})"), "'no such model'");
  EXPECT_EQ(error_sentence(R"({"message":"no such model"})"), "'no such model'");
  EXPECT_EQ(error_sentence("<html>"), "'<html>'");
  EXPECT_LT(error_sentence(std::string(10'000, 'x')).size(), 250u);
}

}  // namespace
}  // namespace tvllm::bench
