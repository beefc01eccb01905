// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tvllm {

// 64 bits from the operating system's generator: seeds of requests that give none, ids that must
// not be guessed. Never in tests. Thread-safe.
std::uint64_t random_seed();

}  // namespace tvllm
