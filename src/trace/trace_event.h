// SPDX-License-Identifier: Apache-2.0
// What the engine tells whoever watches it: plain records of one size, so that writing one costs a
// few stores and a ring of them is an array. docs/trace-events.md says what each kind means and how
// it looks outside.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"

namespace tvllm::trace {

// The numbers are stable: recordings outlive versions. 64 .. 95 are kept for device memory events.
enum class EventKind : std::uint8_t {
  kNone = 0,
  kEngineInfo = 1,
  kRequestQueued = 2,
  kSequenceAdmitted = 3,
  kStepPlanned = 4,
  kSequencePlanned = 5,
  kBlockTaken = 6,
  kBlockShared = 7,
  kBlockFreed = 8,
  kBlockEvicted = 9,
  kStepTimings = 10,
  kTokenProduced = 11,
  kSequencePreempted = 12,
  kSequenceFinished = 13,
  // The state of the scheduler and the cache, between kSnapshotBegin and kSnapshotEnd.
  kSnapshotBegin = 32,
  kSnapshotSequence = 33,
  kSnapshotProgress = 34,
  kSnapshotBlocks = 35,
  kSnapshotQueue = 36,
  kSnapshotEnd = 37,
};

// One record. What `values` hold, in order, is kind_info(kind).fields.
struct TraceEvent {
  static constexpr std::size_t kNumValues = 16;
  // Where the text or the list of a kind that has one begins.
  static constexpr std::size_t kTailAt = 2;
  static constexpr std::size_t kMaxListed = kNumValues - kTailAt;
  static constexpr std::size_t kMaxTextBytes = kMaxListed * sizeof(std::int32_t);

  EventKind kind = EventKind::kNone;
  std::uint8_t num_in_tail = 0;  // bytes of the text, or members of the list
  std::uint64_t step_id = 0;     // of the step being planned or applied
  std::int64_t time_us = 0;      // since the recorder's origin
  SeqId seq_id = {};             // 0: of no sequence
  std::array<std::int32_t, kNumValues> values = {};

  // Cuts off what is too long.
  void set_text(std::string_view text);
  std::string_view text() const;
  std::span<const std::int32_t> list() const {
    return std::span(values).subspan(kTailAt, num_in_tail);
  }
};
static_assert(sizeof(TraceEvent) == 96, "one record is one and a half cache lines");

enum class Tail : std::uint8_t { kNone, kText, kList };

// How a kind is read. Names are stable.
struct KindInfo {
  EventKind kind = EventKind::kNone;
  std::string_view name = {};
  bool has_sequence = false;
  std::array<std::string_view, 8> fields = {};  // names of `values`; the rest is empty
  Tail tail = Tail::kNone;
  std::string_view tail_name = {};
};

// REQUIRES: not kNone
const KindInfo& kind_info(EventKind kind);
// All kinds in the order of their numbers.
std::span<const KindInfo> all_kinds();

}  // namespace tvllm::trace
