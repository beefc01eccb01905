// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "server/http/exchange.h"
#include "server/http/router.h"
#include "trace/trace_ring.h"

namespace tvllm::tokenizer {
class Tokenizer;
}

namespace tvllm::server {

// GET /trace/events: the engine's trace as a stream of server-sent events, to a few readers at
// once. A reader that does not keep up is passed over, and loses events when the ring overtakes it;
// nobody waits for it. I/O thread only.
class TraceFeed {
 public:
  static constexpr std::size_t kMaxReaders = 16;  // past that 503
  // No more is given to a connection that has so much to send already: far below the bound at which
  // a connection is dropped.
  static constexpr std::size_t kMaxUnsentBytes = 256 * 1024;

  // Runs a task on the I/O thread.
  using Post = std::function<void(std::function<void()>)>;

  // `ring` is null when nothing is traced. All outlive the feed.
  TraceFeed(trace::TraceRing* ring, const tokenizer::Tokenizer& tokenizer, Post post);

  // The handler keeps a pointer to this.
  void add_route(Router& router);

  // Sends what is new. Called when the engine has published, and now and then.
  void pump();
  // Ends all streams, so that nobody waits for them.
  void end_all();

 private:
  struct Reader {
    std::shared_ptr<Exchange> exchange;
    std::uint64_t next = 0;
  };

  // Where a reader wants to begin.
  Result<std::uint64_t> wanted_number(const HttpRequest& request) const;
  Result<std::uint64_t> number_after(std::string_view last_event_id) const;

  void open(const std::shared_ptr<Exchange>& exchange);
  void drop_gone();
  bool send_news(Reader& reader);
  void ask_for_snapshot(TimePoint now);

  trace::TraceRing* const ring_;
  const tokenizer::Tokenizer& tokenizer_;
  const Post post_;
  // Ids are "instance-number": a number that a server of earlier gave means nothing here.
  const std::string instance_;
  std::vector<Reader> readers_;
  std::vector<trace::TraceEvent> piece_;  // copied out of the ring, before it is formatted
  bool is_pump_posted_ = false;
  bool wants_snapshot_ = false;
  TimePoint last_snapshot_{};
};

}  // namespace tvllm::server
