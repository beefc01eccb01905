// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tvllm::server {

// This process as the system sees it; zeros for what the system does not tell.
struct ProcessStats {
  double cpu_seconds = 0.0;         // user and system, all threads
  double start_time_seconds = 0.0;  // since 1970
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t num_open_files = 0;
  std::uint64_t max_open_files = 0;
};

ProcessStats read_process_stats();

}  // namespace tvllm::server
