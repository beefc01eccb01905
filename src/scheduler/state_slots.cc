// SPDX-License-Identifier: Apache-2.0
#include "scheduler/state_slots.h"

#include "base/check.h"

namespace tvllm::scheduler {

StateSlots::StateSlots(std::int32_t num_slots)
    : owners_(static_cast<std::size_t>(num_slots), nullptr) {
  free_.reserve(owners_.size());
  for (std::int32_t i = num_slots - 1; i >= 0; --i) {
    free_.push_back(StateSlot(i));
  }
}

void StateSlots::take(Sequence& seq) {
  TVLLM_CHECK(has_free() && !seq.state_slot, "sequence ", seq.id, " takes a second slot or none");
  seq.state_slot = free_.back();
  free_.pop_back();
  owners_[static_cast<std::size_t>(seq.state_slot->value())] = &seq;
}

void StateSlots::give_back(Sequence& seq) {
  TVLLM_CHECK(seq.state_slot && owner(*seq.state_slot) == &seq, "sequence ", seq.id,
              " gives back a slot that it does not hold");
  owners_[static_cast<std::size_t>(seq.state_slot->value())] = nullptr;
  free_.push_back(*seq.state_slot);
  released_.push_back(*seq.state_slot);
  seq.state_slot.reset();
}

void StateSlots::move_released_to(std::vector<StateSlot>& out) {
  out.insert(out.end(), released_.begin(), released_.end());
  released_.clear();
}

}  // namespace tvllm::scheduler
