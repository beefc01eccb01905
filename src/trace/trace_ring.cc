// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_ring.h"

#include <algorithm>

#include "base/check.h"

namespace tvllm::trace {

TraceRing::TraceRing(std::size_t num_bytes)
    : capacity_(num_bytes / sizeof(TraceEvent)), events_(capacity_) {
  TVLLM_CHECK(capacity_ >= 1, "a trace ring of ", num_bytes, " bytes");
}

void TraceRing::append(std::span<const TraceEvent> events) {
  MutexLock lock(mutex_);
  if (events.size() > capacity_) {
    next_ += events.size() - capacity_;
    events = events.last(capacity_);
  }
  while (!events.empty()) {
    const std::size_t at = (next_ - 1) % capacity_;
    const std::size_t count = std::min(events.size(), capacity_ - at);
    std::copy_n(events.begin(), count, events_.begin() + static_cast<std::ptrdiff_t>(at));
    events = events.subspan(count);
    next_ += count;
  }
}

TraceRing::Piece TraceRing::read(std::uint64_t wanted, std::span<TraceEvent> out) const {
  MutexLock lock(mutex_);
  const std::uint64_t oldest = next_ - std::min<std::uint64_t>(next_ - 1, capacity_);
  Piece piece;
  piece.first = wanted > next_ ? next_ : std::max(wanted, oldest);
  piece.num_lost = piece.first - std::min(std::max<std::uint64_t>(wanted, 1), piece.first);
  piece.num_events = std::min<std::size_t>(next_ - piece.first, out.size());
  for (std::size_t i = 0; i < piece.num_events; ++i) {
    out[i] = events_[(piece.first - 1 + i) % capacity_];
  }
  return piece;
}

std::uint64_t TraceRing::next() const {
  MutexLock lock(mutex_);
  return next_;
}

void TraceRing::set_info(const TraceEvent& info) {
  MutexLock lock(mutex_);
  info_ = info;
}

TraceEvent TraceRing::info() const {
  MutexLock lock(mutex_);
  return info_;
}

}  // namespace tvllm::trace
