// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/shared_log.h"

#include <algorithm>

#include "backend/cuda/emulation/arena.h"

namespace tvllm::cuda::emulation {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr std::uint8_t kWholeWord = 0xf;

}  // namespace

SharedLog::SharedLog() : words_(kSharedRangeBytes / kWordBytes) {}

SharedLog::Access SharedLog::make_access(std::uint8_t bytes, int thread_idx) const {
  const int warp_idx = thread_idx / 32;
  return Access{.phase = phase_,
                .warp_phase = warp_phases_[static_cast<std::size_t>(warp_idx)],
                .thread_idx = static_cast<std::int16_t>(thread_idx),
                .warp_idx = static_cast<std::int16_t>(warp_idx),
                .bytes = bytes};
}

bool SharedLog::races(const Access& earlier, const Access& now) const {
  if (earlier.phase != phase_ || (earlier.bytes & now.bytes) == 0) return false;
  if (earlier.thread_idx == now.thread_idx) return false;
  return earlier.warp_idx != now.warp_idx || earlier.warp_phase == now.warp_phase;
}

// Calls body(word, bits of its bytes) until one finds a race.
template <typename Body>
std::optional<SharedLog::Race> SharedLog::for_each_word(std::size_t offset, std::size_t bytes,
                                                        Body&& body) {
  const std::size_t end = offset + bytes;
  while (offset < end) {
    const std::size_t at = offset % kWordBytes;
    const std::size_t count = std::min(kWordBytes - at, end - offset);
    const auto bits = static_cast<std::uint8_t>(((1u << count) - 1) << at);
    if (std::optional<Race> race = body(words_[offset / kWordBytes], bits)) return race;
    offset += count;
  }
  return std::nullopt;
}

std::optional<SharedLog::Race> SharedLog::read(std::size_t offset, std::size_t bytes,
                                               int thread_idx) {
  return for_each_word(offset, bytes, [&](Word& word, std::uint8_t bits) -> std::optional<Race> {
    const Access now = make_access(bits, thread_idx);
    if (races(word.write, now)) {
      return Race{.thread_idx = word.write.thread_idx, .was_write = true};
    }
    Access& known = word.read;
    if (known.phase == phase_ && known.bytes == kWholeWord && bits == kWholeWord) {
      if (known.thread_idx != now.thread_idx) known.thread_idx = -1;
      if (known.warp_idx != now.warp_idx) known.warp_idx = -1;
      known.warp_phase = now.warp_phase;
    } else {
      known = now;
    }
    return std::nullopt;
  });
}

std::optional<SharedLog::Race> SharedLog::write(std::size_t offset, std::size_t bytes,
                                                int thread_idx) {
  return for_each_word(offset, bytes, [&](Word& word, std::uint8_t bits) -> std::optional<Race> {
    const Access now = make_access(bits, thread_idx);
    if (races(word.write, now)) {
      return Race{.thread_idx = word.write.thread_idx, .was_write = true};
    }
    if (races(word.read, now)) {
      return Race{.thread_idx = word.read.thread_idx, .was_write = false};
    }
    word.write = now;
    return std::nullopt;
  });
}

}  // namespace tvllm::cuda::emulation
