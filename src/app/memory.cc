// SPDX-License-Identifier: Apache-2.0
#include "app/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace tvllm::app {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> read_number(const char* path) {
  std::uint64_t value = 0;
  if (std::ifstream(path) >> value) return value;
  return std::nullopt;
}

// "MemAvailable:   20123456 kB" in /proc/meminfo
std::uint64_t machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return kUnlimited;
}

// cgroup v2; "max" in memory.max does not parse as a number, which means no limit.
std::uint64_t cgroup_available() {
  const std::optional<std::uint64_t> limit = read_number("/sys/fs/cgroup/memory.max");
  const std::optional<std::uint64_t> used = read_number("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return kUnlimited;
  return *limit > *used ? *limit - *used : 0;
}

}  // namespace

std::uint64_t available_memory_bytes() {
  const std::uint64_t available = std::min(machine_available(), cgroup_available());
  return available == kUnlimited ? 0 : available;
}

std::uint64_t default_kv_cache_bytes() {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  const std::uint64_t available = available_memory_bytes();
  return available == 0 ? kMost : std::min(kMost, available / 4);
}

}  // namespace tvllm::app
