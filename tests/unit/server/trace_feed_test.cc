// SPDX-License-Identifier: Apache-2.0
// GET /trace/events over a ring that the test writes itself.
#include "server/trace_feed.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/unit/server/server_fixture.h"

namespace tvllm::server {
namespace {

using testing::HttpAnswer;
using testing::HttpClient;
using trace::EventKind;
using trace::TraceEvent;

constexpr std::string_view kPath = "/trace/events";
constexpr std::size_t kCapacity = 100;  // events in the ring

class TraceFeedTest : public ServerTest {
 protected:
  void start_traced(ServerOptions options = {}) {
    TraceEvent info;
    info.kind = EventKind::kEngineInfo;
    info.values[1] = 42;
    ring_.set_info(info);
    Setup setup;
    setup.options = std::move(options);
    setup.trace = &ring_;
    start(setup);
  }

  // Events whose block is their number in the ring.
  void write(int count) {
    for (int i = 0; i < count; ++i) {
      TraceEvent event;
      event.kind = EventKind::kBlockEvicted;
      event.values[0] = static_cast<std::int32_t>(ring_.next());
      ring_.append({&event, 1});
    }
  }

  trace::TraceRing ring_{kCapacity * sizeof(TraceEvent)};
};

// A client that reads event by event.
class Reader {
 public:
  explicit Reader(std::uint16_t port, const std::string& query = "",
                  const std::vector<std::string>& headers = {})
      : client_(port) {
    client_.send_request("GET", str_cat(kPath, query), {}, headers);
    head_ = client_.read_until("\r\n\r\n");
  }

  const std::string& head() const { return head_; }
  HttpClient& client() { return client_; }

  // "engine_info", "gap 3" or the number of an event, which must be that of its block.
  std::string next() {
    std::string text;
    do {
      text += client_.read_until("\n\n");
      if (!text.ends_with("\n\n")) return str_cat("end of stream after ", text);
    } while (text.find("data: ") == std::string::npos);
    const std::size_t data = text.find("data: ");
    const boost::json::value json =
        parse_json(text.substr(data + 6, text.find('\n', data) - data - 6));
    const std::string kind = text_at(json, "kind");
    if (kind == "engine_info") return kind;
    if (kind == "gap") return str_cat("gap ", at(json, "num_lost").as_int64());
    const std::string number = str_cat(at(json, "block").as_int64());
    EXPECT_NE(text.find(str_cat("-", number, "\ndata: ")), std::string::npos) << text;
    const std::size_t id = text.find("id: ");
    last_id_ = text.substr(id + 4, text.find('\n', id) - id - 4);
    return number;
  }

  const std::string& last_id() const { return last_id_; }

  std::vector<std::string> next(int count) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i)
      all.push_back(next());
    return all;
  }

 private:
  HttpClient client_;
  std::string head_;
  std::string last_id_;
};

std::vector<std::string> numbers(int first, int last) {
  std::vector<std::string> all;
  for (int i = first; i <= last; ++i)
    all.push_back(str_cat(i));
  return all;
}

TEST_F(TraceFeedTest, AStreamBeginsWithWhatTheEngineIsAndGoesOnWithWhatComes) {
  start_traced();
  write(3);
  Reader reader(port());
  EXPECT_TRUE(reader.head().starts_with("HTTP/1.1 200")) << reader.head();
  EXPECT_NE(reader.head().find("text/event-stream"), std::string::npos);
  EXPECT_EQ(reader.next(), "engine_info");
  write(2);
  EXPECT_EQ(reader.next(2), numbers(4, 5));
}

TEST_F(TraceFeedTest, FromBeginsWhereAskedAndLastEventIdBehindWhatWasSeen) {
  start_traced();
  write(10);
  Reader from(port(), "?from=4");
  EXPECT_EQ(from.next(), "engine_info");
  EXPECT_EQ(from.next(7), numbers(4, 10));
  const std::string id = from.last_id();
  write(2);
  Reader resumed(port(), "?from=4", {str_cat("Last-Event-ID: ", id)});
  EXPECT_EQ(resumed.next(), "engine_info");
  EXPECT_EQ(resumed.next(2), numbers(11, 12));
  EXPECT_EQ(from.next(2), numbers(11, 12));
  // Nothing is lost between the two.
  write(1);
  EXPECT_EQ(from.next(), "13");
  EXPECT_EQ(resumed.next(), "13");
}

TEST_F(TraceFeedTest, WhatIsGoneIsAGapAndAsksForASnapshot) {
  start_traced();
  write(250);
  Reader reader(port(), "?from=1");
  EXPECT_EQ(reader.next(), "engine_info");
  EXPECT_EQ(reader.next(), "gap 150");
  EXPECT_EQ(reader.next(100), numbers(151, 250));
  EXPECT_TRUE(eventually([this] { return ring_.take_snapshot_request(); }));
}

TEST_F(TraceFeedTest, OneThatKnowsNothingAsksForASnapshotAndOneThatKnowsAllDoesNot) {
  start_traced();
  write(5);
  Reader knowing(port(), "?from=1");
  EXPECT_EQ(knowing.next(), "engine_info");
  EXPECT_EQ(knowing.next(5), numbers(1, 5));
  EXPECT_FALSE(ring_.take_snapshot_request());
  Reader fresh(port());
  EXPECT_EQ(fresh.next(), "engine_info");
  EXPECT_TRUE(eventually([this] { return ring_.take_snapshot_request(); }));
}

// Though its number exists here too.
TEST_F(TraceFeedTest, AnIdOfAnEarlierServerMeansFromNowOn) {
  start_traced();
  write(2);
  Reader reader(port(), "", {"Last-Event-ID: 0123abcd-1"});
  EXPECT_EQ(reader.next(), "engine_info");
  write(1);
  EXPECT_EQ(reader.next(), "3");
}

TEST_F(TraceFeedTest, WhatIsNoNumberIsRefusedByName) {
  start_traced();
  for (const char* query : {"?from=x", "?from=-1", "?from=1.5", "?from=99999999999999999999"}) {
    const HttpAnswer answer = get(str_cat(kPath, query));
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_EQ(text_at(parse_json(answer.body), "error.param"), "from") << answer.body;
  }
  for (const char* id : {"seven", "7", "0123abcd-", "0123abcd-x", "0123abcd--1"}) {
    const HttpAnswer answer =
        testing::http_get(port(), kPath, {str_cat("Last-Event-ID: ", std::string_view(id))});
    EXPECT_EQ(answer.status, 400) << id;
    EXPECT_EQ(text_at(parse_json(answer.body), "error.param"), "Last-Event-ID");
  }
}

TEST_F(TraceFeedTest, WithoutATraceThereIsNothingToSee) {
  start();
  EXPECT_EQ(get(kPath).status, 404);
}

TEST_F(TraceFeedTest, TheKeyGuardsIt) {
  ServerOptions options;
  options.api_keys = {"secret"};
  start_traced(std::move(options));
  EXPECT_EQ(get(kPath).status, 401);
  Reader reader(port(), "", {"Authorization: Bearer secret"});
  EXPECT_EQ(reader.next(), "engine_info");
}

TEST_F(TraceFeedTest, ReadersAreLimitedAndTheirPlacesAreGivenAgain) {
  start_traced();
  std::vector<std::unique_ptr<Reader>> readers;
  for (std::size_t i = 0; i < TraceFeed::kMaxReaders; ++i) {
    readers.push_back(std::make_unique<Reader>(port()));
    EXPECT_EQ(readers.back()->next(), "engine_info");
  }
  EXPECT_EQ(get(kPath).status, 503);
  readers.front()->client().reset();
  EXPECT_TRUE(eventually([this] {
    Reader reader(port());
    return reader.head().starts_with("HTTP/1.1 200");
  }));
}

// It holds up nobody, and what it missed is counted to the last event.
TEST_F(TraceFeedTest, AReaderThatSleepsLosesEventsAndIsToldHowMany) {
  start_traced();
  Reader sleeper(port(), "?from=1");
  sleeper.client().set_receive_buffer(64 * 1024);
  EXPECT_EQ(sleeper.next(), "engine_info");
  Reader awake(port(), "?from=1");
  EXPECT_EQ(awake.next(), "engine_info");
  constexpr int kNumEvents = 18'000;
  for (int i = 1; i <= kNumEvents; i += 90) {
    write(90);
    ASSERT_EQ(awake.next(90), numbers(i, i + 89));
  }
  int expected = 1;
  int num_lost = 0;
  while (expected <= kNumEvents) {
    const std::string event = sleeper.next();
    if (event.starts_with("gap ")) {
      num_lost += static_cast<int>(*parse_int64(event.substr(4)));
      expected += static_cast<int>(*parse_int64(event.substr(4)));
      continue;
    }
    ASSERT_EQ(event, str_cat(expected));
    ++expected;
  }
  EXPECT_GT(num_lost, 0);
}

TEST_F(TraceFeedTest, StreamsEndWhenTheServerDrains) {
  start_traced();
  Reader reader(port());
  EXPECT_EQ(reader.next(), "engine_info");
  server_->request_drain();
  EXPECT_TRUE(reader.next().starts_with("end of stream"));
}

}  // namespace
}  // namespace tvllm::server
