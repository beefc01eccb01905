// SPDX-License-Identifier: Apache-2.0
// The HTTP layer over loopback sockets, with a handler that stands for the API.
#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "tests/support/http_client.h"

namespace tvllm::server {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using tvllm::testing::http_get;
using tvllm::testing::http_post;
using tvllm::testing::HttpAnswer;
using tvllm::testing::HttpClient;

constexpr milliseconds kPatience{20'000};

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

// /later waits for the test to answer; /stream opens a stream that the test feeds; /throw throws;
// any other path answers with method, path and body.
class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpLimits limits = {}) {
    limits.tick_interval = milliseconds(5);
    auto listening = HttpServer::listen({.port = 0, .limits = limits});
    ASSERT_TRUE(listening.has_value());
    server_ = std::move(*listening);
    thread_ = std::thread([this] {
      server_->run({
          .on_request = [this](const auto& exchange) { handle(exchange); },
          .on_refusal =
              [](int status, const Error& error) {
                return HttpResponse{.status = status, .body = error.message};
              },
          .on_tick = {},
          .on_signal = {},
      });
    });
  }

  void TearDown() override {
    if (!thread_.joinable()) return;
    server_->post([this] { server_->stop(); });
    thread_.join();
  }

  void handle(const std::shared_ptr<Exchange>& exchange) {
    const HttpRequest& request = exchange->request();
    if (request.path == "/throw") throw std::runtime_error("boom");
    if (request.path != "/stream" && request.path != "/later") {
      exchange->respond({.body = str_cat(request.method, " ", request.path, " ", request.body)});
      return;
    }
    if (request.path == "/stream") exchange->begin_stream();
    exchange->on_client_gone([this] { ++num_gone_; });
    waiting_ = exchange;
    ++num_waiting_;
  }

  // On the I/O thread, and waits for it.
  void on_io_thread(const std::function<void()>& task) {
    std::atomic<bool> done = false;
    server_->post([&] {
      task();
      done = true;
    });
    ASSERT_TRUE(eventually([&] { return done.load(); }));
  }

  void stream(const std::string& events) {
    on_io_thread([&] {
      waiting_->events() += events;
      waiting_->flush();
    });
  }

  std::uint16_t port() const { return server_->port(); }
  bool wait_for_request(int count = 1) {
    return eventually([&] { return num_waiting_.load() >= count; });
  }

  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  std::shared_ptr<Exchange> waiting_;  // I/O thread only
  std::atomic<int> num_waiting_ = 0;
  std::atomic<int> num_gone_ = 0;
};

TEST_F(HttpServerTest, AnswersARequest) {
  start();
  const HttpAnswer answer = http_post(port(), "/echo?x=1", "hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "POST /echo hello");
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_EQ(answer.header("date").size(), 29u);
}

TEST_F(HttpServerTest, KeepsTheConnectionBetweenRequests) {
  start();
  HttpClient client(port());
  for (int i = 0; i < 100; ++i) {
    client.send_request("POST", "/echo", str_cat(i));
    EXPECT_EQ(client.read_answer().body, str_cat("POST /echo ", i));
  }
}

TEST_F(HttpServerTest, ClosesWhenTheClientAsksForIt) {
  start();
  HttpClient client(port());
  client.send_request("GET", "/echo", {}, {"Connection: close"});
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(client.closed_within(10'000));
}

TEST_F(HttpServerTest, SpeaksHttp10WithAndWithoutKeepAlive) {
  start();
  HttpClient closing(port());
  closing.send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closing.read_answer().body, "GET /echo ");
  EXPECT_TRUE(closing.closed_within(10'000));

  HttpClient keeping(port());
  for (int i = 0; i < 2; ++i) {
    keeping.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const HttpAnswer answer = keeping.read_answer();
    EXPECT_EQ(answer.body, "GET /echo ");
    EXPECT_EQ(answer.header("connection"), "keep-alive");
  }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  HttpClient client(port());
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    str_append(requests, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n", 10 + i);
  }
  client.send(requests);
  client.shutdown_send();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(client.read_answer().body, str_cat("POST /echo ", 10 + i));
  EXPECT_TRUE(client.closed_within(10'000));
}

TEST_F(HttpServerTest, ReadsARequestThatComesByteByByte) {
  start();
  HttpClient client(port());
  const std::string request = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  for (const char c : request) {
    client.send(std::string_view(&c, 1));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(client.read_answer().body, "POST /echo hello");
}

TEST_F(HttpServerTest, ReadsAChunkedBody) {
  start();
  HttpClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nTrailer: 1\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "POST /echo hello, world");
}

TEST_F(HttpServerTest, HeadGivesTheHeaderAlone) {
  start();
  HttpClient client(port());
  client.send_request("HEAD", "/echo");
  const HttpAnswer answer = client.read_answer(/*has_body=*/false);
  EXPECT_EQ(answer.header("content-length"), str_cat(std::string("HEAD /echo ").size()));
  client.send_request("GET", "/echo");
  EXPECT_EQ(client.read_answer().body, "GET /echo ");
}

TEST_F(HttpServerTest, InvitesTheBodyOfAClientThatWaitsForIt) {
  start();
  HttpClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_EQ(client.read_answer().body, "POST /echo hi");
}

TEST_F(HttpServerTest, RefusesAnAnnouncedBodyOverTheLimitBeforeItComes) {
  start({.max_body_bytes = 1000});
  HttpClient client(port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(client.num_interim_answers(), 0);
}

TEST_F(HttpServerTest, LimitsTheBodyExactly) {
  start({.max_body_bytes = 1000});
  EXPECT_EQ(http_post(port(), "/echo", std::string(1000, 'x')).status, 200);
  EXPECT_EQ(http_post(port(), "/echo", std::string(1001, 'x')).status, 413);
  HttpClient chunked(port());
  chunked.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
               std::string(1001, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.read_answer().status, 413);
}

TEST_F(HttpServerTest, ABodyFarOverTheLimitStillGetsItsAnswer) {
  start({.max_body_bytes = 1000});
  EXPECT_EQ(http_post(port(), "/echo", std::string(4'000'000, 'x')).status, 413);
}

TEST_F(HttpServerTest, LimitsTheBodiesOfAllClientsTogether) {
  start({.max_body_bytes = 100'000, .max_held_body_bytes = 150'000});
  HttpClient first(port());
  first.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" +
             std::string(99'999, 'x'));
  // The first one's bytes must have arrived before the second is refused for them.
  EXPECT_TRUE(eventually(
      [&] { return http_post(port(), "/echo", std::string(60'000, 'y')).status == 503; }));
  first.send("x");
  EXPECT_EQ(first.read_answer().status, 200);
  EXPECT_TRUE(eventually(
      [&] { return http_post(port(), "/echo", std::string(60'000, 'y')).status == 200; }));
}

TEST_F(HttpServerTest, LimitsTheHeaderBytes) {
  start({.max_header_bytes = 4096});
  EXPECT_EQ(http_get(port(), "/echo", {"X: " + std::string(3900, 'x')}).status, 200);
  EXPECT_EQ(http_get(port(), "/echo", {"X: " + std::string(4100, 'x')}).status, 431);
  HttpClient endless(port());
  endless.send("GET /" + std::string(10'000, 'a'));
  EXPECT_EQ(endless.read_answer().status, 431);
}

TEST_F(HttpServerTest, LimitsTheNumberOfHeaders) {
  start();
  std::vector<std::string> headers;
  for (int i = 0; i < 255; ++i)  // and Host
    headers.push_back(str_cat("X", i, ": 1"));
  EXPECT_EQ(http_get(port(), "/echo", headers).status, 200);
  headers.emplace_back("Y: 1");
  EXPECT_EQ(http_get(port(), "/echo", headers).status, 431);
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
  start();
  const struct {
    const char* bytes;
    int status;
  } cases[] = {
      {"hello\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /echo\r\n\r\n", 400},
      {"GET /echo HTTP/1.1\r\n\r\n", 400},
      {"GET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
       "chunked\r\n"
       "\r\n0\r\n\r\n",
       400},
      {"POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"GET /echo HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400},
      {"GET /echo HTTP/1.1\r\nHost: x\r\nX\r\n\r\n", 400},
      {"GET /echo HTTP/1.1\r\nHost: x\r\nX: \x01\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
       400},
      {"GET /echo HTTP/2.0\r\n\r\n", 505},
      {"GET /echo HTTP/3.1\r\n\r\n", 505},
      {"\x16\x03\x01\x02", 400},  // a TLS client
  };
  for (const auto& [bytes, status] : cases) {
    HttpClient client(port());
    client.send(bytes);
    const HttpAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, status) << bytes;
    EXPECT_EQ(answer.header("connection"), "close") << bytes;
    EXPECT_TRUE(client.closed_within(10'000)) << bytes;
  }
}

TEST_F(HttpServerTest, SurvivesRandomBytes) {
  start({.header_timeout = milliseconds(200)});
  std::uint32_t state = 12345;
  for (int i = 0; i < 200; ++i) {
    std::string bytes =
        i % 2 == 0 ? "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" : "";
    for (int k = 0; k < 40; ++k) {
      state = state * 1664525u + 1013904223u;
      const std::size_t at = bytes.empty() ? 0 : (state >> 8) % bytes.size();
      if (i % 2 == 0 && k < 3) {
        bytes[at] = static_cast<char>(state >> 24);
      } else if (i % 2 == 1) {
        bytes.push_back(static_cast<char>(state >> 24));
      }
    }
    HttpClient client(port());
    client.send(bytes);
    client.shutdown_send();
    client.read_answer();
  }
  EXPECT_EQ(http_get(port(), "/echo").status, 200);
}

TEST_F(HttpServerTest, AnswersAHalfSentRequestWithATimeout) {
  start({.header_timeout = milliseconds(60), .body_timeout = milliseconds(60)});
  HttpClient header(port());
  header.send("GET /echo HTTP/1.1\r\nHost:");
  EXPECT_EQ(header.read_answer().status, 408);
  EXPECT_TRUE(header.closed_within(10'000));

  HttpClient body(port());
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello");
  EXPECT_EQ(body.read_answer().status, 408);
}

TEST_F(HttpServerTest, ADrippingHeaderDoesNotExtendItsTime) {
  start({.header_timeout = milliseconds(100)});
  HttpClient client(port());
  client.set_timeout_ms(1);
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\n");
  HttpAnswer answer;
  for (int i = 0; i < 3000 && answer.status == 0; ++i) {
    if (!client.send("X: y\r\n")) break;
    answer = client.read_answer();
  }
  EXPECT_EQ(answer.status, 408);
}

TEST_F(HttpServerTest, ALongUploadLivesWhileItMakesProgress) {
  // 40 ms and one more for each 100 bytes: 20 pieces of 1000 bytes have 200 ms.
  start({.body_timeout = milliseconds(400), .min_body_bytes_per_second = 1000});
  HttpClient client(port());
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    client.send(std::string(1000, 'x'));
    std::this_thread::sleep_for(milliseconds(60));
  }
  EXPECT_EQ(client.read_answer().status, 200);
}

TEST_F(HttpServerTest, ClosesAnIdleConnectionWithoutAWord) {
  start({.keep_alive_timeout = milliseconds(60)});
  HttpClient fresh(port());
  EXPECT_EQ(fresh.read_to_end(), "");
  HttpClient used(port());
  used.send_request("GET", "/echo");
  EXPECT_EQ(used.read_answer().status, 200);
  EXPECT_EQ(used.read_to_end(), "");
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsA500AndNothingElse) {
  start();
  EXPECT_EQ(http_get(port(), "/throw").status, 500);
  EXPECT_EQ(http_get(port(), "/echo").status, 200);
}

TEST_F(HttpServerTest, StreamsEventsInChunks) {
  start();
  HttpClient client(port());
  client.send_request("GET", "/stream");
  ASSERT_TRUE(wait_for_request());
  stream("data: 1\n\n");
  stream("data: 2\n\ndata: 3\n\n");
  on_io_thread([&] { waiting_->end_stream(); });
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.header("transfer-encoding"), "chunked");
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body, "data: 1\n\ndata: 2\n\ndata: 3\n\n");
  client.send_request("GET", "/echo");  // the connection lives on
  EXPECT_EQ(client.read_answer().body, "GET /echo ");
}

TEST_F(HttpServerTest, StreamsToHttp10WithoutChunks) {
  start();
  HttpClient client(port());
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(wait_for_request());
  stream("data: 1\n\n");
  on_io_thread([&] { waiting_->end_stream(); });
  const std::string all = client.read_to_end();
  EXPECT_THAT(all, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(all.ends_with("\r\n\r\ndata: 1\n\n")) << all;
}

TEST_F(HttpServerTest, SendsTheStreamsHeaderBeforeTheFirstEvent) {
  start();
  HttpClient client(port());
  client.send_request("GET", "/stream");
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, PingsASilentStream) {
  start({.ping_interval = milliseconds(20)});
  HttpClient client(port());
  client.send_request("GET", "/stream");
  EXPECT_THAT(client.read_until(": ping\n\n"), HasSubstr(": ping\n\n"));
  EXPECT_THAT(client.read_until(": ping\n\n"), HasSubstr(": ping\n\n"));
}

TEST_F(HttpServerTest, NoticesAClientThatClosesWhileItWaits) {
  start();
  for (const char* path : {"/later", "/stream"}) {
    const int gone_before = num_gone_;
    const int waiting_before = num_waiting_;
    HttpClient client(port());
    client.send_request("GET", path);
    ASSERT_TRUE(wait_for_request(waiting_before + 1));
    client.close();
    EXPECT_TRUE(eventually([&] { return num_gone_ == gone_before + 1; })) << path;
  }
}

TEST_F(HttpServerTest, NoticesAClientThatResetsWhileItWaits) {
  start();
  for (const char* path : {"/later", "/stream"}) {
    const int gone_before = num_gone_;
    const int waiting_before = num_waiting_;
    HttpClient client(port());
    client.send_request("GET", path);
    ASSERT_TRUE(wait_for_request(waiting_before + 1));
    client.reset();
    EXPECT_TRUE(eventually([&] { return num_gone_ == gone_before + 1; })) << path;
  }
}

TEST_F(HttpServerTest, NoticesAnHttp10ClientThatCloses) {
  start();
  HttpClient client(port());
  client.send("GET /later HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(wait_for_request());
  client.close();
  EXPECT_TRUE(eventually([&] { return num_gone_ == 1; }));
}

TEST_F(HttpServerTest, AHalfClosedClientStillGetsItsAnswer) {
  start({.ping_interval = milliseconds(20)});
  HttpClient client(port());
  client.send_request("GET", "/later");
  ASSERT_TRUE(wait_for_request());
  client.shutdown_send();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(num_gone_, 0);
  on_io_thread([&] { waiting_->respond({.body = "late"}); });
  EXPECT_EQ(client.read_answer().body, "late");
  EXPECT_GE(client.num_interim_answers(), 1);
  EXPECT_TRUE(client.closed_within(10'000));
}

TEST_F(HttpServerTest, AHalfClosedClientStillGetsItsStream) {
  start();
  HttpClient client(port());
  client.send_request("GET", "/stream");
  ASSERT_TRUE(wait_for_request());
  client.shutdown_send();
  stream("data: 1\n\n");
  std::this_thread::sleep_for(milliseconds(50));
  stream("data: 2\n\n");
  on_io_thread([&] { waiting_->end_stream(); });
  EXPECT_EQ(num_gone_, 0);
  const HttpAnswer answer = client.read_answer();
  EXPECT_THAT(answer.body, HasSubstr(": ping\n\n"));
  EXPECT_EQ(tvllm::testing::parse_events(answer.body), (std::vector<std::string>{"1", "2"}));
}

TEST_F(HttpServerTest, AHalfClosedClientThatLeavesLaterIsNoticed) {
  start({.ping_interval = milliseconds(20)});
  for (const char* path : {"/later", "/stream"}) {
    const int gone_before = num_gone_;
    const int waiting_before = num_waiting_;
    HttpClient client(port());
    client.send_request("GET", path);
    ASSERT_TRUE(wait_for_request(waiting_before + 1));
    client.shutdown_send();
    std::this_thread::sleep_for(milliseconds(60));
    EXPECT_EQ(num_gone_, gone_before);
    client.close();
    EXPECT_TRUE(eventually([&] { return num_gone_ == gone_before + 1; })) << path;
  }
}

TEST_F(HttpServerTest, NoticesAClientThatLeavesWithARequestInThePipe) {
  start();
  HttpClient client(port());
  client.send_request("GET", "/later");
  client.send_request("GET", "/echo");
  ASSERT_TRUE(wait_for_request());
  client.close();
  EXPECT_TRUE(eventually([&] { return num_gone_ == 1; }));
}

TEST_F(HttpServerTest, DropsAStreamWhoseReaderFallsTooFarBehind) {
  start({.max_stream_buffer_bytes = 64 * 1024});
  HttpClient client(port());
  client.set_receive_buffer(4096);
  client.send_request("GET", "/stream");
  ASSERT_TRUE(wait_for_request());
  const std::string event = "data: " + std::string(10'000, 'x') + "\n\n";
  std::size_t num_bytes = 0;
  for (int i = 0; i < 2000 && num_gone_ == 0; ++i) {
    stream(event);
    num_bytes += event.size();
  }
  EXPECT_TRUE(eventually([&] { return num_gone_ == 1; }));
  // The kernel holds some for it too, and not without bound: here it would take four million.
  EXPECT_LT(num_bytes, 64u * 1024 + 1024 * 1024);
}

TEST_F(HttpServerTest, DropsAClientThatTakesNothing) {
  start({.max_stream_buffer_bytes = 100'000'000, .write_timeout = milliseconds(100)});
  HttpClient client(port());
  client.set_receive_buffer(4096);
  client.send_request("GET", "/stream");
  ASSERT_TRUE(wait_for_request());
  stream("data: " + std::string(20'000'000, 'x') + "\n\n");
  EXPECT_TRUE(eventually([&] { return num_gone_ == 1; }));
}

TEST_F(HttpServerTest, SendsALargeAnswerToASlowReaderWhole) {
  start();
  const std::string body(3'000'000, 'x');
  HttpClient client(port());
  client.set_receive_buffer(32 * 1024);
  client.send_request("GET", "/later");
  ASSERT_TRUE(wait_for_request());
  on_io_thread([&] { waiting_->respond({.body = body}); });
  const HttpAnswer answer = client.read_answer();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body, body);
}

TEST_F(HttpServerTest, RefusesAConnectionTooMany) {
  start({.max_connections = 2});
  HttpClient first(port());
  first.send_request("GET", "/echo");
  EXPECT_EQ(first.read_answer().status, 200);
  HttpClient second(port());
  second.send_request("GET", "/echo");
  EXPECT_EQ(second.read_answer().status, 200);
  HttpClient third(port());
  EXPECT_EQ(third.read_answer().status, 503);
  first.close();
  EXPECT_TRUE(eventually([&] { return http_get(port(), "/echo").status == 200; }));
}

TEST_F(HttpServerTest, DrainEndsIdleConnectionsAndLetsOpenAnswersFinish) {
  start();
  HttpClient idle(port());
  idle.send_request("GET", "/echo");
  EXPECT_EQ(idle.read_answer().status, 200);
  HttpClient busy(port());
  busy.send_request("GET", "/later");
  ASSERT_TRUE(wait_for_request());

  on_io_thread([&] { server_->drain(); });
  EXPECT_TRUE(idle.closed_within(10'000));
  const HttpAnswer late = http_get(port(), "/echo");
  EXPECT_EQ(late.status, 200);
  EXPECT_EQ(late.header("connection"), "close");
  on_io_thread([&] { waiting_->respond({.body = "done"}); });
  EXPECT_EQ(busy.read_answer().body, "done");
  EXPECT_TRUE(busy.closed_within(10'000));
}

TEST_F(HttpServerTest, StopEndsOpenExchanges) {
  start();
  HttpClient client(port());
  client.send_request("GET", "/later");
  ASSERT_TRUE(wait_for_request());
  server_->post([this] { server_->stop(); });
  thread_.join();
  EXPECT_EQ(num_gone_, 1);
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpServerTest, APortInUseIsOneClearSentence) {
  start();
  const auto second = HttpServer::listen({.port = port()});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kIo);
  EXPECT_EQ(second.error().message,
            str_cat("cannot listen on '127.0.0.1' port ", port(), ": Address already in use"));
}

TEST_F(HttpServerTest, AnUnknownHostIsAnError) {
  const auto server = HttpServer::listen({.host = "no such host", .port = 0});
  ASSERT_FALSE(server.has_value());
  EXPECT_THAT(server.error().message, HasSubstr("cannot find 'no such host' port 0"));
}

TEST_F(HttpServerTest, HoldsManyIdleStreamsAndStillAnswersAtOnce) {
  start();
  std::vector<std::unique_ptr<HttpClient>> streams;
  for (int i = 0; i < 300; ++i) {
    streams.push_back(std::make_unique<HttpClient>(port()));
    streams.back()->send_request("GET", "/stream");
  }
  ASSERT_TRUE(wait_for_request(300));
  const auto start_time = std::chrono::steady_clock::now();
  EXPECT_EQ(http_get(port(), "/echo").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - start_time, milliseconds(1000));
}

}  // namespace
}  // namespace tvllm::server
