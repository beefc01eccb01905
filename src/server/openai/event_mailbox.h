// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "core/token_event.h"

namespace tvllm::server {

// Where the engine thread leaves a step's events and the I/O thread takes them. The I/O thread is
// woken once, however many steps pass until it comes. Thread-safe. What is in it is bounded by the
// engine's pace: an event a sequence and step, taken before the next wake-up.
class EventMailbox final : public TokenEventSink {
 public:
  // `wake` is called on the engine thread, with the mailbox locked: it must only post.
  explicit EventMailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void publish(std::span<TokenEvent> events) noexcept override TVLLM_EXCLUDES(mutex_);

  // Appends all events since the last call, in order.
  void take(std::vector<TokenEvent>& events) TVLLM_EXCLUDES(mutex_);

  // `wake` is not called any more.
  void silence() TVLLM_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::function<void()> wake_ TVLLM_GUARDED_BY(mutex_);
  std::vector<TokenEvent> events_ TVLLM_GUARDED_BY(mutex_);
};

}  // namespace tvllm::server
