// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "trace/trace_event.h"

namespace tvllm::trace {

// The last trace events, in bounded memory: the oldest go first, whoever still wanted them. Every
// event has a sequence number, from 1 on without gaps; readers keep their own place.
//
//   oldest() ........................ next() - 1 | next()
//   [ what readers can have                     ]  the number of the event to come
//
// Thread-safe. One mutex, held for a copy of records and never while they are made or formatted.
class TraceRing {
 public:
  // REQUIRES: room for an event
  explicit TraceRing(std::size_t num_bytes);
  TraceRing(const TraceRing&) = delete;
  TraceRing& operator=(const TraceRing&) = delete;

  std::size_t capacity() const { return capacity_; }  // in events

  void append(std::span<const TraceEvent> events);

  struct Piece {
    std::uint64_t first = 0;  // number of the first event copied, or to come if there is none
    std::size_t num_events = 0;
    std::uint64_t num_lost = 0;  // events between `wanted` and `first` that are gone
  };
  // Copies events from number `wanted` on, as many as there are and `out` holds. A number that was
  // never given, as from a ring of an earlier process, means from now on.
  Piece read(std::uint64_t wanted, std::span<TraceEvent> out) const;

  std::uint64_t next() const;

  // The fixed facts about the engine, for readers who come before it did anything.
  void set_info(const TraceEvent& info);
  TraceEvent info() const;

  // A reader cannot go on from what it has seen: the engine is to write its state into the stream
  // at its next step, once however many ask.
  void request_snapshot() { snapshot_wanted_.store(true, std::memory_order_relaxed); }
  bool take_snapshot_request() {
    return snapshot_wanted_.load(std::memory_order_relaxed) &&
           snapshot_wanted_.exchange(false, std::memory_order_relaxed);
  }

 private:
  const std::size_t capacity_;
  mutable Mutex mutex_;
  std::vector<TraceEvent> events_ TVLLM_GUARDED_BY(mutex_);  // event n at (n - 1) % capacity_
  std::uint64_t next_ TVLLM_GUARDED_BY(mutex_) = 1;
  TraceEvent info_ TVLLM_GUARDED_BY(mutex_);
  std::atomic<bool> snapshot_wanted_{false};
};

}  // namespace tvllm::trace
