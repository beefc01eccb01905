// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "trace/trace_event.h"
#include "trace/trace_ring.h"

namespace tvllm::trace {

// Where the engine thread writes what it does: into memory of its own, without a lock; flush()
// hands it to the ring, once a step. The rooms hold a pointer that is null when nothing is traced.
// They know no clock: whoever drives the step sets its time.
//
// Engine thread only. Allocates at construction and never again: a step that writes more than the
// buffer holds is flushed in parts.
class TraceRecorder {
 public:
  static constexpr std::size_t kDefaultBuffer = 4096;  // events

  // `ring` outlives the recorder; times count from `origin`. REQUIRES: buffer_size >= 1
  TraceRecorder(TraceRing& ring, TimePoint origin, std::size_t buffer_size = kDefaultBuffer)
      : ring_(ring), origin_(origin), events_(buffer_size) {}
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  TraceRing& ring() { return ring_; }

  // Of the events from now on.
  void set_time(TimePoint now) {
    time_us_ = std::chrono::duration_cast<std::chrono::microseconds>(now - origin_).count();
  }
  void set_step(std::uint64_t step_id) { step_id_ = step_id; }

  void add(EventKind kind, SeqId seq_id, std::initializer_list<std::int32_t> values) {
    std::copy(values.begin(), values.end(), append(kind, seq_id).values.begin());
  }
  void add_text(EventKind kind, SeqId seq_id, std::int32_t first, std::int32_t second,
                std::string_view text) {
    TraceEvent& event = append(kind, seq_id);
    event.values[0] = first;
    event.values[1] = second;
    event.set_text(text);
  }
  // As many records as the list needs.
  class ListWriter;

  // A fixed fact, which readers also get without having seen it.
  void set_info(std::initializer_list<std::int32_t> values) {
    TraceEvent info;
    info.kind = EventKind::kEngineInfo;
    std::copy(values.begin(), values.end(), info.values.begin());
    ring_.set_info(info);
  }

  void flush() {
    if (num_events_ > 0) ring_.append(std::span(events_).first(num_events_));
    num_events_ = 0;
  }

 private:
  // Values that the caller does not set are of an earlier event, and nobody reads them.
  TraceEvent& append(EventKind kind, SeqId seq_id) {
    if (num_events_ == events_.size()) flush();
    TraceEvent& event = events_[num_events_++];
    event.kind = kind;
    event.num_in_tail = 0;
    event.step_id = step_id_;
    event.time_us = time_us_;
    event.seq_id = seq_id;
    return event;
  }

  TraceRing& ring_;
  const TimePoint origin_;
  std::vector<TraceEvent> events_;  // the first num_events_ are not flushed yet
  std::size_t num_events_ = 0;
  std::int64_t time_us_ = 0;
  std::uint64_t step_id_ = 0;
};

// Spreads a list of blocks over records of a kind that has one.
class TraceRecorder::ListWriter {
 public:
  ListWriter(TraceRecorder& recorder, EventKind kind, SeqId seq_id)
      : recorder_(recorder), kind_(kind), seq_id_(seq_id) {}

  // `first` and `second` are the values of a record that begins with this member.
  void add(std::int32_t first, std::int32_t second, BlockId block) {
    if (event_ == nullptr || event_->num_in_tail == TraceEvent::kMaxListed ||
        event_->values[0] != first) {
      event_ = &recorder_.append(kind_, seq_id_);
      event_->values[0] = first;
      event_->values[1] = second;
    }
    event_->values[TraceEvent::kTailAt + event_->num_in_tail++] = block.value();
  }

 private:
  TraceRecorder& recorder_;
  const EventKind kind_;
  const SeqId seq_id_;
  TraceEvent* event_ = nullptr;  // the last one; nothing else is written meanwhile
};

}  // namespace tvllm::trace
