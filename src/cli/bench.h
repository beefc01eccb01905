// SPDX-License-Identifier: Apache-2.0
// The benchmarks of `tiny-vllm bench`, one file each, and what they share.
#pragma once

#include <cstdint>
#include <string>

#include "app/engine_config.h"
#include "base/result.h"
#include "cli/verbs.h"

namespace tvllm::cli {

Verb add_bench_latency(CLI::App& bench);
Verb add_bench_throughput(CLI::App& bench);
Verb add_bench_serve(CLI::App& bench);

// The steps are read out of the trace while they run, so it need not hold a whole run.
inline constexpr std::uint64_t kBenchTraceBytes = 32 << 20;

// Room for so many requests at once. An error says how many there can be.
Status reserve_queue(app::EngineConfig& config, std::int64_t num_requests);

// Writes `text` as the whole file. An error names the path.
Status write_file(const std::string& path, const std::string& text);
// Adds it as one more line.
Status append_line(const std::string& path, const std::string& text);

}  // namespace tvllm::cli
