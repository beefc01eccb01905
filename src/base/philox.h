// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace tvllm {

// Philox4x32-10, a counter-based random generator: the same key and counter give the same four
// words on every machine, in any order of calls. Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3", SC'11. Thread-safe: a pure function.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// A number in [0, 1) with 24 random bits, from one word.
inline float uniform_float(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24f;
}

}  // namespace tvllm
