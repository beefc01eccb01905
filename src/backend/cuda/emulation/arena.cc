// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backend/cuda/emulation/sanitizer.h"
#include "base/check.h"

namespace tvllm::cuda::emulation {
namespace {

// Between buffers, so that an index that runs over by less meets nobody's memory.
constexpr std::size_t kGuardBytes = 256;

void* reserve(std::size_t bytes) {
  void* begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TVLLM_CHECK(begin != MAP_FAILED, "emulated device: cannot reserve addresses");
  madvise(begin, bytes, MADV_NOHUGEPAGE);  // a touched byte should not cost two megabytes
  return begin;
}

std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

Arena& Arena::instance() {
  static Arena* const arena = new Arena;
  return *arena;
}

Arena::Arena()
    : begin_(reinterpret_cast<std::uintptr_t>(reserve(kArenaBytes))),
      states_(static_cast<std::uint8_t*>(reserve(kArenaBytes))) {}

std::byte* Arena::allocate(std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > limit_ - used_bytes_) return nullptr;
  const std::size_t room = round_up(bytes, kAlignment) + kGuardBytes;
  // From the cursor on, then once more from the beginning.
  for (std::size_t start : {cursor_, kAllSharedBytes}) {
    auto next = allocations_.lower_bound(begin_ + start);
    if (next != allocations_.begin()) {
      const auto& [before, before_bytes] = *std::prev(next);
      const std::size_t end = before - begin_ + round_up(before_bytes, kAlignment) + kGuardBytes;
      start = std::max(start, end);
    }
    for (; next != allocations_.end() && next->first - begin_ < start + room; ++next) {
      start = next->first - begin_ + round_up(next->second, kAlignment) + kGuardBytes;
    }
    if (start + room > kArenaBytes) continue;
    std::byte* const begin = at(start);
    allocations_.emplace(begin_ + start, bytes);
    used_bytes_ += bytes;
    cursor_ = start + room;
    set_states(begin, bytes, ByteState::kUninitialized);
    poison(begin, room);
    return begin;
  }
  return nullptr;
}

bool Arena::free(const void* begin) {
  const MutexLock lock(mutex_);
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == allocations_.end()) return false;
  const std::size_t bytes = found->second;
  set_states(begin, bytes, ByteState::kNone);
  // Gives the pages back; the address stays poisoned.
  const std::uintptr_t page = 4096;
  const std::uintptr_t first = round_up(found->first, page);
  const std::uintptr_t last = (found->first + bytes) / page * page;
  if (first < last) madvise(at(first - begin_), last - first, MADV_DONTNEED);
  used_bytes_ -= bytes;
  allocations_.erase(found);
  return true;
}

std::optional<Allocation> Arena::allocation_before(const void* address) {
  const MutexLock lock(mutex_);
  auto next = allocations_.upper_bound(reinterpret_cast<std::uintptr_t>(address));
  if (next == allocations_.begin()) return std::nullopt;
  --next;
  return Allocation{.begin = next->first, .bytes = next->second};
}

bool Arena::holds(const void* begin, std::size_t bytes) {
  const std::optional<Allocation> found = allocation_before(begin);
  if (!found) return false;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(begin) - found->begin;
  return offset <= found->bytes && bytes <= found->bytes - offset;
}

void Arena::set_limit(std::size_t bytes) {
  TVLLM_CHECK(bytes <= kMaxDeviceBytes, "emulated device: limit ", bytes);
  const MutexLock lock(mutex_);
  limit_ = bytes;
}

std::size_t Arena::limit() {
  const MutexLock lock(mutex_);
  return limit_;
}

std::size_t Arena::used_bytes() {
  const MutexLock lock(mutex_);
  return used_bytes_;
}

void Arena::set_states(const void* begin, std::size_t bytes, ByteState state) {
  std::memset(state_at(offset_of(begin)), static_cast<int>(state), bytes);
}

TVLLM_NO_SANITIZE void copy_bytes(void* to, const void* from, std::size_t bytes) {
  // Not memcpy, which the sanitizer replaces, nor a loop, which the compiler would make one of.
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  auto* target = static_cast<volatile std::uint8_t*>(to);
  auto* source = static_cast<const volatile std::uint8_t*>(from);
  for (std::size_t i = 0; i < bytes; ++i)
    target[i] = source[i];
#endif
}

TVLLM_NO_SANITIZE void fill_bytes(void* to, std::uint8_t value, std::size_t bytes) {
  auto* target = static_cast<volatile std::uint8_t*>(to);
  for (std::size_t i = 0; i < bytes; ++i)
    target[i] = value;
}

}  // namespace tvllm::cuda::emulation
