// SPDX-License-Identifier: Apache-2.0
#include "bench/sse_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tvllm::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The events of a text that comes in pieces of `piece_len` bytes.
std::vector<std::string> parse(std::string_view text, std::size_t piece_len = 1000) {
  SseParser parser;
  std::vector<std::string> events;
  for (; !text.empty(); text.remove_prefix(std::min(piece_len, text.size()))) {
    EXPECT_TRUE(parser.feed(text.substr(0, piece_len),
                            [&](std::string_view data) { events.emplace_back(data); }));
  }
  return events;
}

TEST(SseParserTest, AnEventIsItsDataWithoutOneBlank) {
  EXPECT_THAT(parse("data: a\n\ndata:b\n\ndata:  c\n\n"), ElementsAre("a", "b", " c"));
}

TEST(SseParserTest, CommentsOtherFieldsAndEventsWithoutDataArePassedOver) {
  EXPECT_THAT(parse(": ping\n\nid: 7\nevent: x\nretry: 10\n\ndata: a\nid: 8\n\n\n\n"),
              ElementsAre("a"));
}

TEST(SseParserTest, LinesOfDataAreJoinedAndMayBeEmpty) {
  EXPECT_THAT(parse("data: a\ndata: b\n\ndata:\n\ndata:\ndata:\n\n"),
              ElementsAre("a\nb", "", "\n"));
}

TEST(SseParserTest, WhatHasNotEndedIsNoEvent) {
  EXPECT_THAT(parse("data: a\n"), IsEmpty());
  EXPECT_THAT(parse("data: a"), IsEmpty());
}

TEST(SseParserTest, NeitherTheCutsNorTheLineEndsMatter) {
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (const std::string_view line : {"data: one", "data: two", "", ": x", "data: [DONE]", ""}) {
      text += line;
      text += end;
    }
    for (std::size_t piece_len = 1; piece_len <= text.size(); ++piece_len) {
      EXPECT_THAT(parse(text, piece_len), ElementsAre("one\ntwo", "[DONE]"))
          << piece_len << " bytes at once";
    }
  }
}

TEST(SseParserTest, AnEventMayBeAsLargeAsTheBoundAndNoLarger) {
  SseParser parser;
  std::size_t num_events = 0;
  const auto count = [&](std::string_view) { ++num_events; };
  const std::string line = "data: " + std::string(SseParser::kMaxEventBytes - 6, 'x');
  EXPECT_TRUE(parser.feed(line + "\n\n", count));
  EXPECT_EQ(num_events, 1u);
  EXPECT_FALSE(parser.feed(line + "x", count));
}

}  // namespace
}  // namespace tvllm::bench
