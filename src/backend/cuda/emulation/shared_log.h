// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tvllm::cuda::emulation {

// Who touched which word of a block's shared memory since the last barrier: threads take turns in
// the emulation, so a missing barrier would often go unnoticed.
//
// Two accesses of different threads to the same bytes, one of them a write, are a race unless a
// barrier of the block lies between, or both threads are of one warp and __syncwarp() does. Atomics
// are not logged. Of accesses to parts of a word by several threads only the last one is known:
// what is reported is a race, but not every race is seen. One a worker; worker thread only.
class SharedLog {
 public:
  SharedLog();

  // All that was logged is over: a barrier of the block, or another block begins.
  void next_phase() { ++phase_; }
  // The same for the threads of one warp.
  void next_warp_phase(int warp_idx) { ++warp_phases_[static_cast<std::size_t>(warp_idx)]; }

  struct Race {
    int thread_idx = -1;  // the other one; -1: several
    bool was_write = false;
  };
  // Logs a read or write of whole words if nothing is unusual about it; else read() or write() must
  // follow, which does the same and finds out. REQUIRES: offset is a multiple of 4
  bool log_usual_read(std::size_t offset, std::size_t num_words, int thread_idx);
  bool log_usual_write(std::size_t offset, std::size_t num_words, int thread_idx);

  // Logs an access to [offset, offset + bytes) of the worker's range; the race it makes, if any.
  std::optional<Race> read(std::size_t offset, std::size_t bytes, int thread_idx);
  std::optional<Race> write(std::size_t offset, std::size_t bytes, int thread_idx);

 private:
  struct Access {
    std::uint32_t phase = 0;
    std::uint32_t warp_phase = 0;
    std::int16_t thread_idx = -1;  // -1: several
    std::int16_t warp_idx = -1;    // -1: several
    std::uint8_t bytes = 0;        // which of the word's four, as bits
  };
  struct Word {
    Access write;
    Access read;
  };

  static constexpr std::uint8_t kWholeWord = 0xf;

  Access make_access(std::uint8_t bytes, int thread_idx) const {
    const int warp_idx = thread_idx / 32;
    return Access{.phase = phase_,
                  .warp_phase = warp_phases_[static_cast<std::size_t>(warp_idx)],
                  .thread_idx = static_cast<std::int16_t>(thread_idx),
                  .warp_idx = static_cast<std::int16_t>(warp_idx),
                  .bytes = bytes};
  }
  bool races(const Access& earlier, const Access& now) const {
    if (earlier.phase != phase_ || (earlier.bytes & now.bytes) == 0) return false;
    if (earlier.thread_idx == now.thread_idx) return false;
    return earlier.warp_idx != now.warp_idx || earlier.warp_phase == now.warp_phase;
  }
  void add_reader(Access& known, const Access& now) const {
    if (known.phase == phase_ && known.bytes == kWholeWord && now.bytes == kWholeWord) {
      if (known.thread_idx != now.thread_idx) known.thread_idx = -1;
      if (known.warp_idx != now.warp_idx) known.warp_idx = -1;
      known.warp_phase = now.warp_phase;
    } else {
      known = now;
    }
  }
  template <typename Body>
  std::optional<Race> for_each_word(std::size_t offset, std::size_t bytes, Body&& body);

  std::uint32_t phase_ = 1;
  std::array<std::uint32_t, 32> warp_phases_ = {};
  std::vector<Word> words_;
};

inline bool SharedLog::log_usual_read(std::size_t offset, std::size_t num_words, int thread_idx) {
  const Access now = make_access(kWholeWord, thread_idx);
  Word* const words = words_.data() + offset / 4;
  for (std::size_t i = 0; i < num_words; ++i) {
    if (words[i].write.phase == phase_ && races(words[i].write, now)) return false;
    add_reader(words[i].read, now);
  }
  return true;
}

inline bool SharedLog::log_usual_write(std::size_t offset, std::size_t num_words, int thread_idx) {
  const Access now = make_access(kWholeWord, thread_idx);
  Word* const words = words_.data() + offset / 4;
  for (std::size_t i = 0; i < num_words; ++i) {
    if (races(words[i].write, now) || races(words[i].read, now)) return false;
    words[i].write = now;
  }
  return true;
}

}  // namespace tvllm::cuda::emulation
