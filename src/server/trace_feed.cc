// SPDX-License-Identifier: Apache-2.0
#include "server/trace_feed.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "server/openai/api_error.h"
#include "server/request_id.h"
#include "server/trace_json.h"

namespace tvllm::server {

namespace {

constexpr std::size_t kPieceEvents = 128;
constexpr int kPiecesPerTurn = 8;  // for one reader, before others have their turn
// A snapshot costs the engine the more the more it holds, so it is not written for every gap.
constexpr std::chrono::milliseconds kSnapshotInterval{200};
constexpr std::uint64_t kFromNowOn = std::numeric_limits<std::uint64_t>::max();

// The value of a query parameter; empty if there is none. Numbers need no decoding.
std::string_view query_value(std::string_view target, std::string_view name) {
  const std::size_t start = target.find('?');
  if (start == std::string_view::npos) return {};
  for (const std::string_view part : split(target.substr(start + 1), '&')) {
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) {
      return part.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

TraceFeed::TraceFeed(trace::TraceRing* ring, const tokenizer::Tokenizer& tokenizer, Post post)
    : ring_(ring), tokenizer_(tokenizer), post_(std::move(post)), instance_(random_hex(8)) {
  if (ring_ != nullptr) piece_.resize(kPieceEvents);
}

void TraceFeed::add_route(Router& router) {
  router.add({"GET", "/trace/events",
              [this](const std::shared_ptr<Exchange>& exchange) { open(exchange); },
              /*needs_key=*/true,
              /*serves_while_draining=*/false,
              /*is_measured=*/false});
}

// A client that comes back says what it has seen; that wins over how it first asked.
Result<std::uint64_t> TraceFeed::wanted_number(const HttpRequest& request) const {
  if (const std::string_view id = request.header("last-event-id"); !id.empty())
    return number_after(id);
  const std::string_view from = query_value(request.target, "from");
  if (from.empty()) return kFromNowOn;
  const std::optional<std::int64_t> number = parse_int64(from);
  if (!number || *number < 0) {
    return invalid_argument(
        str_cat("from must be the number of an event, 0 or more; got ", quoted(from)), "from");
  }
  return static_cast<std::uint64_t>(*number);
}

Result<std::uint64_t> TraceFeed::number_after(std::string_view last_event_id) const {
  const std::size_t dash = last_event_id.find('-');
  const std::optional<std::int64_t> number =
      dash == std::string_view::npos ? std::nullopt : parse_int64(last_event_id.substr(dash + 1));
  if (!number || *number < 0) {
    return invalid_argument(
        str_cat("Last-Event-ID must be the id of an event; got ", quoted(last_event_id)),
        "Last-Event-ID");
  }
  if (last_event_id.substr(0, dash) != instance_) return kFromNowOn;
  return static_cast<std::uint64_t>(*number) + 1;
}

void TraceFeed::open(const std::shared_ptr<Exchange>& exchange) {
  if (ring_ == nullptr) {
    exchange->respond(error_response(make_error(
        ErrorCode::kNotFound, "Nothing is traced: the server runs with --trace-buffer-bytes 0")));
    return;
  }
  const Result<std::uint64_t> wanted = wanted_number(exchange->request());
  if (!wanted) return exchange->respond(error_response(wanted.error()));
  if (exchange->request().method == "HEAD") {
    return exchange->respond({.content_type = "text/event-stream"});
  }
  drop_gone();
  if (readers_.size() >= kMaxReaders) {
    exchange->respond(error_response(
        make_error(ErrorCode::kUnavailable,
                   str_cat("The trace has ", kMaxReaders, " readers already; try again later"))));
    return;
  }
  // Before the client can see that it is connected: what happens from then on is for it.
  const std::uint64_t next = ring_->next();
  exchange->begin_stream();
  append_trace_event(exchange->events(), {}, ring_->info(), tokenizer_);
  exchange->flush();
  if (*wanted > next) wants_snapshot_ = true;
  readers_.push_back({exchange, std::min(*wanted, next)});
  pump();
}

void TraceFeed::drop_gone() {
  std::erase_if(readers_, [](const Reader& reader) { return !reader.exchange->streaming(); });
}

void TraceFeed::pump() {
  if (readers_.empty()) return;
  drop_gone();
  bool has_more = false;
  for (Reader& reader : readers_)
    has_more |= send_news(reader);
  if (wants_snapshot_) ask_for_snapshot(std::chrono::steady_clock::now());
  if (!has_more || is_pump_posted_) return;
  is_pump_posted_ = true;
  post_([this] {
    is_pump_posted_ = false;
    pump();
  });
}

// True if there may be more that its connection would take.
bool TraceFeed::send_news(Reader& reader) {
  Exchange& exchange = *reader.exchange;
  for (int i = 0; i < kPiecesPerTurn; ++i) {
    if (!exchange.streaming() || exchange.num_unsent_bytes() > kMaxUnsentBytes) return false;
    const trace::TraceRing::Piece piece = ring_->read(reader.next, piece_);
    std::string& out = exchange.events();
    if (piece.num_lost > 0) {
      append_trace_gap(out, piece.num_lost);
      wants_snapshot_ = true;
    }
    for (std::size_t e = 0; e < piece.num_events; ++e)
      append_trace_event(out, str_cat(instance_, '-', piece.first + e), piece_[e], tokenizer_);
    reader.next = piece.first + piece.num_events;
    exchange.flush();
    if (piece.num_events < piece_.size()) return false;
  }
  return true;
}

void TraceFeed::ask_for_snapshot(TimePoint now) {
  if (now - last_snapshot_ < kSnapshotInterval) return;
  last_snapshot_ = now;
  wants_snapshot_ = false;
  ring_->request_snapshot();
}

void TraceFeed::end_all() {
  for (const Reader& reader : std::exchange(readers_, {}))
    reader.exchange->end_stream();
}

}  // namespace tvllm::server
