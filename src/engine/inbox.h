// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "core/request.h"
#include "core/token_event.h"

namespace tvllm::engine {

// A request on its way in.
struct Arrival {
  SeqId seq_id;
  std::shared_ptr<const Request> request;
  TokenEventSink* sink = nullptr;  // outlives the engine
};

// What clients have said since the engine looked last. Thread-safe; bounded in arrivals, while
// cancellations are bounded by the sequences that live.
class Inbox {
 public:
  explicit Inbox(std::size_t max_arrivals) : max_arrivals_(max_arrivals) {}

  // False when full or closed.
  bool push(Arrival arrival) TVLLM_EXCLUDES(mutex_);
  void cancel(SeqId seq_id) TVLLM_EXCLUDES(mutex_);

  // Appends everything that came in, in order. With `wait`, blocks until something is there or the
  // inbox is closed. False once it is closed (what was left is still handed out).
  bool drain(bool wait, std::vector<Arrival>& arrivals, std::vector<SeqId>& cancellations)
      TVLLM_EXCLUDES(mutex_);

  // Pushes are refused from now on; a waiting drain returns.
  void close() TVLLM_EXCLUDES(mutex_);

 private:
  const std::size_t max_arrivals_;
  Mutex mutex_;
  CondVar not_empty_;
  std::vector<Arrival> arrivals_ TVLLM_GUARDED_BY(mutex_);
  std::vector<SeqId> cancellations_ TVLLM_GUARDED_BY(mutex_);
  bool closed_ TVLLM_GUARDED_BY(mutex_) = false;
};

}  // namespace tvllm::engine
