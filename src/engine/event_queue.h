// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "core/token_event.h"

namespace tvllm::engine {

// A sink for a client that waits for its events on its own thread: the command line, tests.
// Thread-safe.
class EventQueue final : public TokenEventSink {
 public:
  void publish(std::span<TokenEvent> events) noexcept override {
    MutexLock lock(mutex_);
    for (TokenEvent& event : events)
      events_.push_back(std::move(event));
    not_empty_.notify_all();
  }

  // Waits for events until `deadline`; all that are there, in order, or none.
  std::vector<TokenEvent> take_until(TimePoint deadline) {
    MutexLock lock(mutex_);
    while (events_.empty() && not_empty_.wait_until(mutex_, deadline)) {
    }
    std::vector<TokenEvent> taken;
    taken.swap(events_);
    return taken;
  }

 private:
  Mutex mutex_;
  CondVar not_empty_;
  std::vector<TokenEvent> events_ TVLLM_GUARDED_BY(mutex_);
};

}  // namespace tvllm::engine
