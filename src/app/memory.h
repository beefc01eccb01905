// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tvllm::app {

// Memory that this process may still take: the lesser of what the machine has available and what
// its cgroup leaves below the limit. 0 if neither can be read.
std::uint64_t available_memory_bytes();

// Default of --kv-cache-memory-bytes: the lesser of 4 GiB and a quarter of what is available.
std::uint64_t default_kv_cache_bytes();

}  // namespace tvllm::app
