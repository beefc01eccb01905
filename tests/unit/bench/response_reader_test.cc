// SPDX-License-Identifier: Apache-2.0
#include "bench/http/response_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tvllm::bench {
namespace {

struct Seen {
  Status status = {};
  std::string body = {};
  int http_status = 0;
  bool is_complete = false;
  bool keeps_alive = false;
};

// A response that comes in pieces; then, if wanted, the connection ends.
Seen read(std::string_view text, std::size_t piece_len, bool ends = false) {
  Seen seen;
  ResponseReader reader([&seen](std::string_view piece) { seen.body += piece; });
  for (; !text.empty() && seen.status.has_value();
       text.remove_prefix(std::min(piece_len, text.size()))) {
    seen.status = reader.feed(text.substr(0, piece_len));
  }
  if (ends && seen.status.has_value()) seen.status = reader.end();
  seen.http_status = reader.status();
  seen.is_complete = reader.is_complete();
  if (seen.is_complete) seen.keeps_alive = reader.keeps_alive();
  return seen;
}

constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\n\r\n";
constexpr std::string_view kSized = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone";

TEST(ResponseReaderTest, TheCutsDoNotMatter) {
  for (std::size_t piece_len = 1; piece_len <= kChunked.size(); ++piece_len) {
    const Seen chunked = read(kChunked, piece_len);
    EXPECT_TRUE(chunked.status.has_value()) << chunked.status.error().message;
    EXPECT_TRUE(chunked.is_complete);
    EXPECT_TRUE(chunked.keeps_alive);
    EXPECT_EQ(chunked.http_status, 200);
    EXPECT_EQ(chunked.body, "hello world") << piece_len << " bytes at once";
    const Seen sized = read(kSized, piece_len);
    EXPECT_TRUE(sized.is_complete);
    EXPECT_EQ(sized.http_status, 404);
    EXPECT_EQ(sized.body, "gone") << piece_len << " bytes at once";
  }
}

TEST(ResponseReaderTest, AnInterimAnswerIsPassedOver) {
  const Seen seen = read(std::string("HTTP/1.1 100 Continue\r\n\r\n").append(kSized), 7);
  EXPECT_TRUE(seen.is_complete);
  EXPECT_EQ(seen.http_status, 404);
  EXPECT_EQ(seen.body, "gone");
}

TEST(ResponseReaderTest, WithoutALengthTheBodyEndsWithTheConnection) {
  const std::string_view text = "HTTP/1.1 200 OK\r\n\r\nall of it";
  EXPECT_FALSE(read(text, 5).is_complete);
  const Seen seen = read(text, 5, /*ends=*/true);
  EXPECT_TRUE(seen.status.has_value());
  EXPECT_EQ(seen.body, "all of it");
  EXPECT_FALSE(seen.keeps_alive);
}

TEST(ResponseReaderTest, ACutAnswerIsAnError) {
  for (std::size_t len = 0; len < kChunked.size(); ++len)
    EXPECT_FALSE(read(kChunked.substr(0, len), 1000, /*ends=*/true).status.has_value()) << len;
  EXPECT_EQ(read("", 1, true).status.error().message, "the connection ended without an answer");
}

TEST(ResponseReaderTest, WhatIsNoAnswerIsAnError) {
  for (const std::string_view text :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    const Seen seen = read(text, 1000);
    ASSERT_FALSE(seen.status.has_value()) << text;
    EXPECT_EQ(seen.status.error().code, ErrorCode::kIo);
  }
  EXPECT_FALSE(read(std::string(kSized) + "more", 1000).status.has_value());
}

}  // namespace
}  // namespace tvllm::bench
