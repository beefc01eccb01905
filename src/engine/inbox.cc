// SPDX-License-Identifier: Apache-2.0
#include "engine/inbox.h"

#include <iterator>
#include <utility>

namespace tvllm::engine {

namespace {

template <typename T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

bool Inbox::push(Arrival arrival) {
  MutexLock lock(mutex_);
  if (closed_ || arrivals_.size() >= max_arrivals_) return false;
  arrivals_.push_back(std::move(arrival));
  not_empty_.notify_one();
  return true;
}

void Inbox::cancel(SeqId seq_id) {
  MutexLock lock(mutex_);
  cancellations_.push_back(seq_id);
  not_empty_.notify_one();
}

bool Inbox::drain(bool wait, std::vector<Arrival>& arrivals, std::vector<SeqId>& cancellations) {
  MutexLock lock(mutex_);
  while (wait && arrivals_.empty() && cancellations_.empty() && !closed_)
    not_empty_.wait(mutex_);
  move_all(arrivals_, arrivals);
  move_all(cancellations_, cancellations);
  return !closed_;
}

void Inbox::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  not_empty_.notify_all();
}

}  // namespace tvllm::engine
