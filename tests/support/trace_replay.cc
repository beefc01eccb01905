// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_replay.h"

#include <algorithm>

#include "base/strings.h"

namespace tvllm::testing {

using trace::EventKind;
using trace::TraceEvent;

bool TraceReplay::Sequence::holds_blocks() const {
  return std::any_of(tables.begin(), tables.end(), [](const auto& table) {
    return std::any_of(table.second.begin(), table.second.end(),
                       [](std::int32_t block) { return block != 0; });
  });
}

TraceReplay::TraceReplay(std::int32_t num_blocks, bool from_the_start) : is_valid_(from_the_start) {
  for (std::int32_t block = 1; from_the_start && block <= num_blocks; ++block)
    queue_.push_back(block);
}

std::int32_t TraceReplay::count(Status status) const {
  return static_cast<std::int32_t>(
      std::count_if(sequences_.begin(), sequences_.end(),
                    [status](const auto& entry) { return entry.second.status == status; }));
}

void TraceReplay::expect(bool condition, const TraceEvent& event, const std::string& what) {
  if (condition || !violation_.empty()) return;
  violation_ = str_cat("step ", event.step_id, ", ", trace::kind_info(event.kind).name,
                       " of sequence ", event.seq_id, ": ", what);
}

void TraceReplay::take(const TraceEvent& event) {
  if (event.kind >= EventKind::kSnapshotBegin) return take_snapshot(event);
  if (!is_valid_) return;
  switch (event.kind) {
    case EventKind::kBlockTaken:
    case EventKind::kBlockShared:
    case EventKind::kBlockFreed:
    case EventKind::kBlockEvicted:
      return take_block(event);
    case EventKind::kStepPlanned:
      last_plan_.clear();
      expect(event.values[2] == count(Status::kRunning), event, "num_running");
      expect(event.values[3] == count(Status::kWaiting) + count(Status::kPreempted), event,
             "num_waiting");
      return;
    case EventKind::kStepTimings:
      return;
    default:
      return take_sequence(event);
  }
}

void TraceReplay::take_sequence(const TraceEvent& event) {
  if (event.kind == EventKind::kRequestQueued) {
    expect(!sequences_.contains(event.seq_id), event, "is known already");
    sequences_[event.seq_id] = {.request_id = std::string(event.text()),
                                .num_prompt_tokens = event.values[0]};
    return;
  }
  const auto it = sequences_.find(event.seq_id);
  expect(it != sequences_.end(), event, "is unknown");
  if (it == sequences_.end()) return;
  Sequence& seq = it->second;
  const std::int32_t num_known = seq.num_prompt_tokens + seq.num_output_tokens;
  switch (event.kind) {
    case EventKind::kSequenceAdmitted:
      expect(seq.status == (event.values[2] == 0 ? Status::kWaiting : Status::kPreempted), event,
             "did not wait");
      expect(!seq.holds_blocks(), event, "holds blocks already");
      expect(event.values[0] == num_known, event, "num_known_tokens");
      seq.status = Status::kRunning;
      seq.tables.clear();
      seq.num_computed_tokens = event.values[1];
      return;
    case EventKind::kSequencePlanned:
      expect(seq.status == Status::kRunning, event, "does not run");
      expect(seq.num_computed_tokens == event.values[0], event, "num_computed_tokens");
      seq.num_computed_tokens += event.values[1];
      str_append(last_plan_, last_plan_.empty() ? "" : " ", event.seq_id, ":", event.values[1]);
      return;
    case EventKind::kTokenProduced:
      expect(event.values[1] == seq.num_output_tokens, event, "output_index");
      ++seq.num_output_tokens;
      return;
    case EventKind::kSequencePreempted:
      expect(seq.status == Status::kRunning, event, "does not run");
      seq.status = Status::kPreempted;
      seq.num_computed_tokens = 0;
      return;
    case EventKind::kSequenceFinished:
      expect(seq.status != Status::kFinished, event, "ends twice");
      expect(event.values[2] == seq.num_output_tokens, event, "num_output_tokens");
      seq.status = Status::kFinished;
      if (!seq.holds_blocks()) sequences_.erase(it);
      return;
    default:
      expect(false, event, "is no event of a sequence");
  }
}

void TraceReplay::leave_queue(std::int32_t block) {
  std::erase(queue_, block);
  cached_.erase(block);
}

void TraceReplay::take_block(const TraceEvent& event) {
  const std::int32_t block = event.values[0];
  if (event.kind == EventKind::kBlockEvicted) {
    expect(cached_.erase(block) == 1, event, "was not cached");
    return;
  }
  const auto it = sequences_.find(event.seq_id);
  expect(it != sequences_.end(), event, "is unknown");
  if (it == sequences_.end()) return;
  std::vector<std::int32_t>& table = it->second.tables[event.values[1]];
  if (event.kind == EventKind::kBlockFreed) {
    const auto index = static_cast<std::size_t>(event.values[2]);
    expect(index < table.size() && table[index] == block, event, "stands elsewhere");
    if (index < table.size()) table[index] = 0;
    expect(--num_references_[block] == event.values[3], event, "num_references");
    if (event.values[3] == 0 && event.values[4] != 0) {
      queue_.push_back(block);
      cached_.insert(block);
    } else if (event.values[3] == 0) {
      queue_.push_front(block);
    }
    if (it->second.status == Status::kFinished && !it->second.holds_blocks()) sequences_.erase(it);
    return;
  }
  // A hit may begin behind what its window has passed.
  const bool is_hit = event.kind == EventKind::kBlockShared && table.empty();
  if (is_hit) table.resize(static_cast<std::size_t>(event.values[2]), 0);
  expect(event.values[2] == static_cast<std::int32_t>(table.size()), event, "index");
  table.push_back(block);
  if (event.kind == EventKind::kBlockTaken) {
    expect(!queue_.empty() && queue_.front() == block, event, "not the front of the queue");
    expect(!cached_.contains(block), event, "taken without being evicted");
    expect(num_references_[block] == 0, event, "is used");
    num_references_[block] = 1;
  } else {
    expect(++num_references_[block] == event.values[3], event, "num_references");
  }
  leave_queue(block);
}

void TraceReplay::take_snapshot(const TraceEvent& event) {
  switch (event.kind) {
    case EventKind::kSnapshotBegin:
      sequences_.clear();
      queue_.clear();
      cached_.clear();
      num_references_.clear();
      return;
    case EventKind::kSnapshotSequence:
      sequences_[event.seq_id] = {.request_id = std::string(event.text()),
                                  .num_prompt_tokens = event.values[0]};
      return;
    case EventKind::kSnapshotProgress:
      sequences_.at(event.seq_id).status = static_cast<Status>(event.values[0]);
      sequences_.at(event.seq_id).num_computed_tokens = event.values[1];
      sequences_.at(event.seq_id).num_output_tokens = event.values[2];
      return;
    case EventKind::kSnapshotBlocks:
      for (const std::int32_t block : event.list()) {
        std::vector<std::int32_t>& table = sequences_.at(event.seq_id).tables[event.values[0]];
        if (table.empty()) table.resize(static_cast<std::size_t>(event.values[1]), 0);
        table.push_back(block);
        ++num_references_[block];
      }
      return;
    case EventKind::kSnapshotQueue:
      queue_.insert(queue_.end(), event.list().begin(), event.list().end());
      if (event.values[0] != 0) cached_.insert(event.list().begin(), event.list().end());
      return;
    default:
      is_valid_ = true;
  }
}

}  // namespace tvllm::testing
