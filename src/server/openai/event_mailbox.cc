// SPDX-License-Identifier: Apache-2.0
#include "server/openai/event_mailbox.h"

#include <iterator>
#include <utility>

namespace tvllm::server {

void EventMailbox::publish(std::span<TokenEvent> events) noexcept {
  MutexLock lock(mutex_);
  const bool was_empty = events_.empty();
  events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
  if (was_empty && !events_.empty() && wake_) wake_();
}

void EventMailbox::take(std::vector<TokenEvent>& events) {
  MutexLock lock(mutex_);
  if (events.empty()) {
    events_.swap(events);  // both arrays keep their capacity, so a step allocates nothing
    return;
  }
  events.insert(events.end(), std::make_move_iterator(events_.begin()),
                std::make_move_iterator(events_.end()));
  events_.clear();
}

void EventMailbox::silence() {
  MutexLock lock(mutex_);
  wake_ = nullptr;
}

}  // namespace tvllm::server
