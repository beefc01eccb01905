// SPDX-License-Identifier: Apache-2.0
#include "bench/random_source.h"

#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace tvllm::bench {

RandomSource::RandomSource(std::uint64_t seed, std::uint32_t stream)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      stream_(stream) {}

std::uint32_t RandomSource::next_word() {
  if (num_left_ == 0) {
    words_ = philox4x32({static_cast<std::uint32_t>(num_blocks_),
                         static_cast<std::uint32_t>(num_blocks_ >> 32), stream_, 0},
                        key_);
    ++num_blocks_;
    num_left_ = words_.size();
  }
  return words_[--num_left_];
}

double RandomSource::uniform() {
  const std::uint64_t high = next_word() >> 5;
  const std::uint64_t low = next_word() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1.0p-53;
}

std::int64_t RandomSource::uniform_int(std::int64_t low, std::int64_t high) {
  const std::uint64_t range =
      static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;  // 0: all 2^64
  const auto draw = [this] { return std::uint64_t{next_word()} << 32 | next_word(); };
  std::uint64_t value = draw();
  if (range != 0) {
    // What is left of 2^64 after whole ranges would make small numbers likelier.
    const std::uint64_t num_too_many = (0 - range) % range;
    while (value > ~num_too_many)
      value = draw();
    value %= range;
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value);
}

double RandomSource::exponential() {
  return -std::log1p(-uniform());
}

double RandomSource::normal() {
  // Box and Muller; the second number is not kept, so that a value has no hidden state.
  const double radius = std::sqrt(2.0 * exponential());
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
double RandomSource::gamma(double shape) {
  if (shape < 1.0) return gamma(shape + 1.0) * std::pow(1.0 - uniform(), 1.0 / shape);
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = normal();
    const double v = std::pow(1.0 + c * x, 3.0);
    if (v <= 0.0) continue;
    if (std::log1p(-uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace tvllm::bench
