// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/sequence.h"

namespace tvllm::scheduler {

// The executor's places for running sequences, 0 .. num_slots - 1, and who holds which. A slot is
// held exactly as long as the sequence's blocks, so a slot named by a submitted step always leads
// to the right sequence. Owned by the scheduler. Engine thread only.
class StateSlots {
 public:
  explicit StateSlots(std::int32_t num_slots);

  std::int32_t num_taken() const {
    return static_cast<std::int32_t>(owners_.size() - free_.size());
  }
  bool has_free() const { return !free_.empty(); }
  bool has_released() const { return !released_.empty(); }

  // REQUIRES: has_free(), the sequence has none
  void take(Sequence& seq);
  // REQUIRES: the sequence has one
  void give_back(Sequence& seq);
  // Nothing for a free slot.
  Sequence* owner(StateSlot slot) const { return owners_[static_cast<std::size_t>(slot.value())]; }
  const std::vector<Sequence*>& owners() const { return owners_; }

  // The slots given back since the last call, for the next plan to tell the executor.
  void move_released_to(std::vector<StateSlot>& out);

 private:
  std::vector<Sequence*> owners_;  // [num_slots]; the scheduler owns the sequences
  std::vector<StateSlot> free_;    // taken from the back: the last one used is warm
  std::vector<StateSlot> released_;
};

}  // namespace tvllm::scheduler
