// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "trace/trace_event.h"

namespace tvllm::testing {

// What a reader can know of an engine from its trace events alone: who waits, who runs, who holds
// which blocks, and the free block queue in its order. Written from docs/trace-events.md, as the
// page is; knows no scheduler and no cache. The first event that contradicts what came before is
// kept in `violation()`.
class TraceReplay {
 public:
  enum class Status { kWaiting, kRunning, kPreempted, kFinished };

  struct Sequence {
    Status status = Status::kWaiting;
    std::string request_id = {};
    std::int32_t num_prompt_tokens = 0;
    std::int32_t num_computed_tokens = 0;
    std::int32_t num_output_tokens = 0;
    // By group; 0 where a window has passed.
    std::map<std::int32_t, std::vector<std::int32_t>> tables = {};
    bool holds_blocks() const;
  };

  // From the very first event on, the pool is full of free blocks in order of their numbers.
  TraceReplay(std::int32_t num_blocks, bool from_the_start);

  void take(const trace::TraceEvent& event);

  // False until the first snapshot is complete, for one that did not start with the engine.
  bool is_valid() const { return is_valid_; }
  const std::string& violation() const { return violation_; }
  const std::map<SeqId, Sequence>& sequences() const { return sequences_; }
  const std::deque<std::int32_t>& queue() const { return queue_; }
  std::int32_t count(Status status) const;
  std::int32_t num_cached() const { return static_cast<std::int32_t>(cached_.size()); }
  // "1:8 2:1": of the last step_planned and what followed it.
  const std::string& last_plan() const { return last_plan_; }

 private:
  void take_block(const trace::TraceEvent& event);
  void take_snapshot(const trace::TraceEvent& event);
  void take_sequence(const trace::TraceEvent& event);
  void leave_queue(std::int32_t block);
  void expect(bool condition, const trace::TraceEvent& event, const std::string& what);

  std::map<SeqId, Sequence> sequences_;
  std::deque<std::int32_t> queue_;
  std::set<std::int32_t> cached_;  // of the queue
  std::map<std::int32_t, std::int32_t> num_references_;
  bool is_valid_;
  std::string last_plan_;
  std::string violation_;
};

}  // namespace tvllm::testing
