// SPDX-License-Identifier: Apache-2.0
#include "output/output_processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tests/unit/tokenizer/test_data.h"

namespace tvllm::output {
namespace {

using Ids = std::vector<TokenId>;

constexpr TokenId kEndOfText = 0;  // of SmolLM2, special
constexpr TokenId kImEnd = 2;      // its EOS

TokenEvent token_event(TokenId id, FinishReason finish = FinishReason::kNone) {
  TokenEvent event;
  event.token_id = id;
  event.finish_reason = finish;
  return event;
}

// All deltas of one answer, joined.
struct Answer {
  std::string text;
  std::vector<std::string> texts;  // of each delta
  std::vector<TokenPiece> tokens;
  OutputDelta last;

  Ids ids() const {
    Ids ids;
    for (const TokenPiece& piece : tokens)
      ids.push_back(piece.id);
    return ids;
  }
};

Answer run(OutputProcessor& processor, std::vector<TokenEvent> events) {
  Answer answer;
  for (TokenEvent& event : events) {
    OutputDelta delta = processor.process(std::move(event));
    EXPECT_TRUE(is_valid_utf8(delta.text));
    answer.text += delta.text;
    answer.texts.push_back(delta.text);
    answer.tokens.insert(answer.tokens.end(), delta.tokens.begin(), delta.tokens.end());
    answer.last = std::move(delta);
    if (answer.last.finish_reason != FinishReason::kNone) break;
  }
  return answer;
}

// The tokens in order; the last ends by max_tokens.
std::vector<TokenEvent> events_of(const Ids& ids, FinishReason finish = FinishReason::kLength) {
  std::vector<TokenEvent> events;
  for (const TokenId id : ids)
    events.push_back(token_event(id));
  events.back().finish_reason = finish;
  return events;
}

Answer answer_of(const std::string& text, OutputOptions options = {}) {
  OutputProcessor processor(tokenizer::smollm2(), std::move(options));
  return run(processor, events_of(tokenizer::smollm2().encode(text)));
}

TEST(OutputProcessorTest, WithoutStopStringsEachTokenIsShownAtOnce) {
  const std::string text = "The answer is 42.";
  const Ids ids = tokenizer::smollm2().encode(text);
  OutputProcessor processor(tokenizer::smollm2(), {});
  const Answer answer = run(processor, events_of(ids));
  EXPECT_EQ(answer.text, text);
  EXPECT_EQ(answer.ids(), ids);
  EXPECT_EQ(answer.last.finish_reason, FinishReason::kLength);
  EXPECT_EQ(answer.last.num_output_tokens, static_cast<std::int32_t>(ids.size()));
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(answer.texts[i], tokenizer::smollm2().token_bytes(ids[i]));
}

// Case STR-01.
TEST(OutputProcessorTest, AStopStringOverTokensCutsExactlyAndLeaksNothing) {
  const std::string text = "alpha beta gamma delta";
  struct Run {
    std::vector<std::string> stop;
    std::string expected;
    std::string stop_reason;
  };
  for (const Run& r :
       {Run{{"beta gamma"}, "alpha ", "beta gamma"}, Run{{"a"}, "", "a"},
        Run{{"delta"}, "alpha beta gamma ", "delta"}, Run{{"zzz", "pha b"}, "al", "pha b"},
        Run{{text}, "", text}, Run{{"gamma"}, "alpha beta ", "gamma"},
        Run{{"beta", "alpha beta"}, "", "alpha beta"}}) {
    const Answer answer = answer_of(text, {.stop = r.stop});
    EXPECT_EQ(answer.text, r.expected);
    EXPECT_EQ(answer.last.finish_reason, FinishReason::kStop);
    EXPECT_EQ(std::get<std::string>(answer.last.stop_reason), r.stop_reason);
    std::string so_far;
    for (const std::string& piece : answer.texts) {
      so_far += piece;
      EXPECT_EQ(r.expected.compare(0, so_far.size(), so_far), 0) << so_far;
    }
  }
}

TEST(OutputProcessorTest, TheStopStringIsShownIfAskedFor) {
  const Answer answer =
      answer_of("alpha beta gamma delta", {.stop = {"ta gam"}, .include_stop_str_in_output = true});
  EXPECT_EQ(answer.text, "alpha beta gam");
  EXPECT_EQ(answer.last.finish_reason, FinishReason::kStop);
}

TEST(OutputProcessorTest, NothingIsHeldWhereTheStopStringIsShownAnyway) {
  OutputProcessor processor(tokenizer::smollm2(),
                            {.stop = {" delta force"}, .include_stop_str_in_output = true});
  const Ids ids = tokenizer::smollm2().encode("alpha delta");
  std::string text;
  for (const TokenId id : ids)
    text += processor.process(token_event(id)).text;
  EXPECT_EQ(text, "alpha delta");
}

TEST(OutputProcessorTest, ATokenIsHeldTogetherWithItsText) {
  const Ids ids = tokenizer::smollm2().encode("one two three four");
  OutputProcessor processor(tokenizer::smollm2(), {.stop = {" two thru"}});
  const OutputDelta one = processor.process(token_event(ids[0]));
  EXPECT_EQ(one.text, "one");
  EXPECT_EQ(one.tokens.size(), 1u);
  const OutputDelta two = processor.process(token_event(ids[1]));
  EXPECT_FALSE(two.has_content());
  EXPECT_EQ(two.num_output_tokens, 2);
  const OutputDelta three = processor.process(token_event(ids[2]));
  EXPECT_EQ(three.text, " two three");
  ASSERT_EQ(three.tokens.size(), 2u);
  EXPECT_EQ(three.tokens[0].id, ids[1]);
  EXPECT_EQ(three.tokens[1].id, ids[2]);
}

TEST(OutputProcessorTest, AStopStringAsksForCancellationUnlessTheEngineEnded) {
  const Ids ids = tokenizer::smollm2().encode("one two three");
  OutputProcessor mid_way(tokenizer::smollm2(), {.stop = {"two"}});
  (void)mid_way.process(token_event(ids[0]));
  const OutputDelta stopped = mid_way.process(token_event(ids[1]));
  EXPECT_TRUE(stopped.should_cancel);
  EXPECT_TRUE(mid_way.is_finished());

  // It outweighs the length that the same token reached.
  OutputProcessor at_end(tokenizer::smollm2(), {.stop = {"two"}});
  (void)at_end.process(token_event(ids[0]));
  const OutputDelta ended = at_end.process(token_event(ids[1], FinishReason::kLength));
  EXPECT_FALSE(ended.should_cancel);
  EXPECT_EQ(ended.finish_reason, FinishReason::kStop);
  EXPECT_EQ(std::get<std::string>(ended.stop_reason), "two");
}

TEST(OutputProcessorTest, TokensAndCountEndWithTheTokenThatCompletedTheStopString) {
  const Ids ids = tokenizer::smollm2().encode("one two three four");
  OutputProcessor processor(tokenizer::smollm2(), {.stop = {"thr"}});
  Answer answer = run(processor, events_of(ids));
  EXPECT_EQ(answer.text, "one two ");
  EXPECT_EQ(answer.ids(), Ids(ids.begin(), ids.begin() + 3));
  EXPECT_EQ(answer.last.num_output_tokens, 3);

  const OutputDelta late = processor.process(token_event(ids[3]));
  EXPECT_FALSE(late.has_content());
  EXPECT_EQ(late.finish_reason, FinishReason::kNone);
  EXPECT_EQ(late.num_output_tokens, 3);
  EXPECT_EQ(processor.process(token_event(kNoToken, FinishReason::kAbort)).finish_reason,
            FinishReason::kNone);
}

TEST(OutputProcessorTest, HeldTextIsShownWhenTheAnswerEndsOtherwise) {
  for (const FinishReason finish :
       {FinishReason::kLength, FinishReason::kAbort, FinishReason::kError}) {
    OutputProcessor processor(tokenizer::smollm2(), {.stop = {" two three"}});
    std::vector<TokenEvent> events = events_of(tokenizer::smollm2().encode("one two"));
    events.back().finish_reason = FinishReason::kNone;
    events.push_back(token_event(kNoToken, finish));
    events.back().error_message = "why";
    const Answer answer = run(processor, std::move(events));
    EXPECT_EQ(answer.text, "one two");
    EXPECT_EQ(answer.tokens.size(), 2u);
    EXPECT_EQ(answer.last.finish_reason, finish);
    EXPECT_EQ(answer.last.error_message, "why");
    EXPECT_TRUE(std::holds_alternative<std::monostate>(answer.last.stop_reason));
  }
}

TEST(OutputProcessorTest, EosEndsWithoutTextButCounts) {
  Ids ids = tokenizer::smollm2().encode("It is 4.");
  ids.push_back(kImEnd);
  for (const bool skip_special_tokens : {true, false}) {
    OutputProcessor processor(tokenizer::smollm2(), {.skip_special_tokens = skip_special_tokens});
    const Answer answer = run(processor, events_of(ids, FinishReason::kStop));
    EXPECT_EQ(answer.text, "It is 4.");
    EXPECT_EQ(answer.ids(), ids);
    EXPECT_EQ(answer.last.num_output_tokens, static_cast<std::int32_t>(ids.size()));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(answer.last.stop_reason));
    EXPECT_FALSE(answer.last.should_cancel);
  }
}

TEST(OutputProcessorTest, AStopTokenIsNamedAndItsTextLeftOutUnlessAskedFor) {
  const Ids ids = tokenizer::smollm2().encode("one two three");
  for (const bool include : {false, true}) {
    OutputProcessor processor(tokenizer::smollm2(), {.include_stop_str_in_output = include});
    std::vector<TokenEvent> events = events_of(ids, FinishReason::kStop);
    events.back().stop_token_id = ids.back();
    const Answer answer = run(processor, std::move(events));
    EXPECT_EQ(answer.text, include ? "one two three" : "one two");
    EXPECT_EQ(std::get<TokenId>(answer.last.stop_reason), ids.back());
    EXPECT_EQ(answer.ids(), ids);
  }
}

TEST(OutputProcessorTest, SpecialTokensInTheMiddleAreSkippedOrShown) {
  Ids ids = tokenizer::smollm2().encode("one");
  ids.push_back(kEndOfText);
  ids.push_back(tokenizer::smollm2().encode(" two")[0]);
  OutputProcessor skipping(tokenizer::smollm2(), {});
  const Answer skipped = run(skipping, events_of(ids));
  EXPECT_EQ(skipped.text, "one two");
  EXPECT_EQ(skipped.ids(), ids);
  OutputProcessor showing(tokenizer::smollm2(), {.skip_special_tokens = false});
  EXPECT_EQ(run(showing, events_of(ids)).text, "one<|endoftext|> two");
}

// Case STR-03.
TEST(OutputProcessorTest, CharactersSplitOverTokensArriveWhole) {
  for (const std::string text :
       {"Hi \xf0\x9f\x98\x80\xf0\x9f\x8e\x89 n\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac!",
        "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0"
        "\x9f\x91\xa6",
        "e\xcc\x81"}) {
    // As the vocabulary splits it, and byte by byte.
    Ids bytes;
    for (const char c : text)
      bytes.push_back(static_cast<std::uint8_t>(c));
    const auto byte_tokenizer = tokenizer::make_tokenizer(tokenizer::byte_data());
    OutputProcessor by_byte(*byte_tokenizer, {});
    for (const Answer& answer : {answer_of(text), run(by_byte, events_of(bytes))}) {
      EXPECT_EQ(answer.text, text);
      for (const std::string& piece : answer.texts) {
        EXPECT_TRUE(is_valid_utf8(piece));
        EXPECT_EQ(piece.find("\xef\xbf\xbd"), std::string::npos);
      }
    }
  }
}

TEST(OutputProcessorTest, CharactersAboveTheBasicPlaneArriveWholeFromSingleBytes) {
  // U+50000: SmolLM2 has no token for its first byte.
  const auto byte_tokenizer = tokenizer::make_tokenizer(tokenizer::byte_data());
  OutputProcessor processor(*byte_tokenizer, {});
  const Answer answer = run(processor, events_of({0xf1, 0x90, 0x80, 0x80}));
  EXPECT_EQ(answer.text, "\xf1\x90\x80\x80");
  EXPECT_EQ(answer.texts, (std::vector<std::string>{"", "", "", "\xf1\x90\x80\x80"}));
}

TEST(OutputProcessorTest, TokensOfOneCharacterAreReleasedTogetherAndKeepTheirBytes) {
  // SmolLM2 writes U+1F600 as three tokens.
  const Ids ids = {10813, 242, 218};
  OutputProcessor processor(tokenizer::smollm2(), {});
  EXPECT_FALSE(processor.process(token_event(ids[0])).has_content());
  EXPECT_FALSE(processor.process(token_event(ids[1])).has_content());
  const OutputDelta whole = processor.process(token_event(ids[2]));
  EXPECT_EQ(whole.text, "\xf0\x9f\x98\x80");
  ASSERT_EQ(whole.tokens.size(), 3u);
  std::string bytes;
  for (const TokenPiece& piece : whole.tokens) {
    bytes += piece.bytes;
    EXPECT_EQ(piece.text, "\xef\xbf\xbd");
    EXPECT_EQ(piece.text_offset, 0u);
  }
  EXPECT_EQ(bytes, "\xf0\x9f\x98\x80");
}

TEST(OutputProcessorTest, AnIncompleteCharacterAtTheEndBecomesOneReplacement) {
  OutputProcessor processor(tokenizer::smollm2(), {});
  const Answer answer = run(processor, events_of({10813, 242}));
  EXPECT_EQ(answer.text, "\xef\xbf\xbd");
  EXPECT_EQ(answer.tokens.size(), 2u);
}

TEST(OutputProcessorTest, TextOffsetsCountCharacters) {
  const Answer answer = answer_of("n\xc3\xa9 \xf0\x9f\x98\x80 ok");
  std::vector<std::size_t> offsets;
  std::size_t num_bytes = 0;
  for (const TokenPiece& piece : answer.tokens) {
    std::size_t num_chars = 0;
    // The characters that are complete before the token's first byte.
    for (std::size_t i = 0; i < answer.text.size(); ++i) {
      const Utf8Char c = decode_utf8(std::string_view(answer.text).substr(i));
      const auto len = static_cast<std::size_t>(c.num_bytes);
      if (i + len <= num_bytes) ++num_chars;
      i += len - 1;
    }
    EXPECT_EQ(piece.text_offset, num_chars);
    num_bytes += piece.bytes.size();
  }
  EXPECT_EQ(num_bytes, answer.text.size());
}

TEST(OutputProcessorTest, StopStringsWithinMinTokensArePassedOver) {
  const std::string text = "ab ab ab ab";
  ASSERT_EQ(tokenizer::smollm2().encode(text).size(), 4u);
  const std::vector<std::string> expected = {"ab", "ab", "ab ab", "ab ab ab", "ab ab ab ab"};
  for (std::int32_t min_tokens = 0; min_tokens <= 4; ++min_tokens) {
    const Answer answer = answer_of(text, {.stop = {" ab"}, .min_tokens = min_tokens});
    EXPECT_EQ(answer.text, expected[static_cast<std::size_t>(min_tokens)]);
    EXPECT_EQ(answer.last.finish_reason,
              min_tokens < 4 ? FinishReason::kStop : FinishReason::kLength);
  }
}

TEST(OutputProcessorTest, AStopStringThatEndsBehindMinTokensMayBeginWithinThem) {
  const Ids ids = tokenizer::smollm2().encode("one two three");
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(answer_of("one two three", {.stop = {"two thr"}, .min_tokens = 2}).text, "one ");
  const Answer passed_over = answer_of("one two three", {.stop = {"two thr"}, .min_tokens = 3});
  EXPECT_EQ(passed_over.text, "one two three");
  EXPECT_EQ(passed_over.last.finish_reason, FinishReason::kLength);
}

TEST(OutputProcessorTest, LogprobsTravelWithTheirTokens) {
  const Ids ids = tokenizer::smollm2().encode("one two three four");
  std::vector<TokenEvent> events = events_of(ids);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].has_logprobs = true;
    events[i].logprobs.token = {ids[i], -0.5f * static_cast<float>(i), 1};
    events[i].logprobs.top = {{ids[i], -0.5f * static_cast<float>(i), 1}};
  }
  OutputProcessor processor(tokenizer::smollm2(), {.stop = {" two x", "four"}});
  const Answer answer = run(processor, std::move(events));
  EXPECT_EQ(answer.text, "one two three ");
  ASSERT_EQ(answer.tokens.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(answer.tokens[i].logprobs.has_value());
    EXPECT_EQ(answer.tokens[i].logprobs->token.token_id, ids[i]);
    EXPECT_EQ(answer.tokens[i].logprobs->token.logprob, -0.5f * static_cast<float>(i));
    EXPECT_EQ(answer.tokens[i].logprobs->top.size(), 1u);
  }
}

TEST(OutputProcessorTest, PromptLogprobsAndCachedTokensPassThrough) {
  TokenEvent event;
  event.prompt_logprobs.resize(3);
  event.prompt_logprobs[1].token.token_id = 7;
  event.num_cached_tokens = 16;
  OutputProcessor processor(tokenizer::smollm2(), {});
  const OutputDelta delta = processor.process(std::move(event));
  ASSERT_EQ(delta.prompt_logprobs.size(), 3u);
  EXPECT_EQ(delta.prompt_logprobs[1].token.token_id, 7);
  EXPECT_EQ(delta.num_cached_tokens, 16);
  EXPECT_EQ(delta.num_output_tokens, 0);
  EXPECT_FALSE(delta.has_content());
}

TEST(OutputProcessorTest, WithoutDetokenizingThereAreTokensAlone) {
  const Ids ids = {10813, 242, 218};
  OutputProcessor processor(tokenizer::smollm2(),
                            {.stop = {"\xf0\x9f\x98\x80"}, .detokenize = false});
  for (const TokenId id : ids) {
    const OutputDelta delta = processor.process(token_event(id));
    EXPECT_EQ(delta.text, "");
    ASSERT_EQ(delta.tokens.size(), 1u);
    EXPECT_EQ(delta.tokens[0].id, id);
    EXPECT_EQ(delta.finish_reason, FinishReason::kNone);
  }
}

TEST(OutputProcessorTest, IdsOutsideTheVocabularyAddNothing) {
  OutputProcessor processor(tokenizer::smollm2(), {});
  const Answer answer = run(processor, events_of({1000000, 49152, -5, 504}));
  EXPECT_EQ(answer.text, "The");
  EXPECT_EQ(answer.last.num_output_tokens, 4);
  EXPECT_EQ(answer.tokens.size(), 4u);
}

TEST(OutputProcessorTest, LossyTokenTextIsAlwaysValid) {
  EXPECT_EQ(lossy_token_text(tokenizer::smollm2(), 504), "The");
  EXPECT_EQ(lossy_token_text(tokenizer::smollm2(), 10813), "\xef\xbf\xbd");
  EXPECT_EQ(lossy_token_text(tokenizer::smollm2(), kImEnd), "<|im_end|>");
  EXPECT_EQ(lossy_token_text(tokenizer::smollm2(), -1), "");
}

}  // namespace
}  // namespace tvllm::output
