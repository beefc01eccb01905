// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tvllm::bench {

// Random numbers of a benchmark: the same seed gives the same load on every machine and with every
// standard library, whose distributions differ. Thread-compatible. A value.
class RandomSource {
 public:
  // Streams of one seed are independent of each other.
  explicit RandomSource(std::uint64_t seed, std::uint32_t stream = 0);

  std::uint32_t next_word();
  double uniform();  // in [0, 1), 53 bits
  // In [low, high], without a bias. REQUIRES: low <= high
  std::int64_t uniform_int(std::int64_t low, std::int64_t high);
  double exponential();        // mean 1
  double normal();             // mean 0, deviation 1
  double gamma(double shape);  // mean `shape`; REQUIRES: shape > 0

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      const auto other = uniform_int(0, static_cast<std::int64_t>(i) - 1);
      std::swap(items[i - 1], items[static_cast<std::size_t>(other)]);
    }
  }

 private:
  const std::array<std::uint32_t, 2> key_;
  const std::uint32_t stream_;
  std::uint64_t num_blocks_ = 0;
  std::array<std::uint32_t, 4> words_ = {};
  std::size_t num_left_ = 0;  // of words_
};

}  // namespace tvllm::bench
