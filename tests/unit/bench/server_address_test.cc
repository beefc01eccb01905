// SPDX-License-Identifier: Apache-2.0
#include "bench/http/server_address.h"

#include <gtest/gtest.h>

namespace tvllm::bench {
namespace {

TEST(ServerAddressTest, AUrlIsTakenApart) {
  const auto url = [](std::string_view text) {
    const Result<ServerAddress> server = parse_base_url(text);
    return server.has_value() ? server->url() : "refused";
  };
  EXPECT_EQ(url("http://127.0.0.1:8000"), "http://127.0.0.1:8000");
  EXPECT_EQ(url("http://example"), "http://example:80");
  EXPECT_EQ(url("http://example:9/api/v2//"), "http://example:9/api/v2");
  EXPECT_EQ(url("http://[::1]:8000/"), "http://[::1]:8000");
  EXPECT_EQ(url("http://[::1]"), "http://[::1]:80");
}

TEST(ServerAddressTest, WhatIsNoUrlIsRefusedWithTheForm) {
  for (const char* const text :
       {"", "example:8000", "ftp://example", "http://", "http://:8000",
        "http://example:", "http://example:0", "http://example:65536", "http://example:x",
        "http://[::1", "http://[]:1", "http://[::1]8000", "http://::1:8000", "http://a b",
        "http://a\r\nb:1", "http://me@example", "http://example?x=1"}) {
    const Result<ServerAddress> server = parse_base_url(text);
    ASSERT_FALSE(server.has_value()) << text;
    EXPECT_EQ(server.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(
        server.error().message.starts_with("--base-url must be http://HOST[:PORT][/PATH], got "))
        << server.error().message;
  }
  EXPECT_NE(parse_base_url("https://example").error().message.find("no TLS"), std::string::npos);
}

TEST(ServerAddressTest, ARequestHasItsLengthAndTheGivenHeaders) {
  const ServerAddress server{.host = "example", .port = 8000, .path_prefix = "/api"};
  EXPECT_EQ(request_bytes(server, "POST", "/v1/completions", {{"Authorization", "Bearer k"}}, "{}"),
            "POST /api/v1/completions HTTP/1.1\r\nHost: example:8000\r\n"
            "User-Agent: tiny-vllm-bench\r\nAuthorization: Bearer k\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(request_bytes(server, "GET", "/v1/models", {}),
            "GET /api/v1/models HTTP/1.1\r\nHost: example:8000\r\n"
            "User-Agent: tiny-vllm-bench\r\n\r\n");
}

}  // namespace
}  // namespace tvllm::bench
