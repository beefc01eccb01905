// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/shared_log.h"

#include <algorithm>

#include "backend/cuda/emulation/arena.h"

namespace tvllm::cuda::emulation {
namespace {

constexpr std::size_t kWordBytes = 4;

}  // namespace

SharedLog::SharedLog() : words_(kSharedRangeBytes / kWordBytes) {}

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
    add_reader(word.read, now);
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
