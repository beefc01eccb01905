// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>

#include "core/engine_options.h"
#include "scheduler/sequence.h"

namespace tvllm::scheduler {

// Who comes first: the earlier arrival, or under the priority policy the lower priority value and
// among equals the earlier arrival. Fixed for a sequence's life, so that a preempted one goes back
// to its old place. The waiting sequence that comes first is admitted next; the running one that
// comes last is preempted first.
class SequenceOrder {
 public:
  explicit SequenceOrder(SchedulingPolicy policy) : policy_(policy) {}

  bool operator()(const Sequence* a, const Sequence* b) const {
    if (policy_ == SchedulingPolicy::kPriority && a->request->priority != b->request->priority) {
      return a->request->priority < b->request->priority;
    }
    return a->arrival_idx < b->arrival_idx;
  }

 private:
  SchedulingPolicy policy_;
};

// The sequences that wait, in their order. Owns none of them. A tree, because a cancelled request
// leaves from anywhere. Engine thread only.
class RequestQueue {
 public:
  explicit RequestQueue(SchedulingPolicy policy) : sequences_(SequenceOrder(policy)) {}

  bool empty() const { return sequences_.empty(); }
  std::int32_t size() const { return static_cast<std::int32_t>(sequences_.size()); }
  bool contains(Sequence& seq) const { return sequences_.contains(&seq); }

  // REQUIRES: !empty()
  Sequence& front() const { return **sequences_.begin(); }

  void push(Sequence& seq) { sequences_.insert(&seq); }
  void remove(Sequence& seq) { sequences_.erase(&seq); }

  auto begin() const { return sequences_.begin(); }
  auto end() const { return sequences_.end(); }

 private:
  std::set<Sequence*, SequenceOrder> sequences_;
};

}  // namespace tvllm::scheduler
