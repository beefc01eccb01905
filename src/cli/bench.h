// SPDX-License-Identifier: Apache-2.0
// The benchmarks of `tiny-vllm bench`, one file each, and what they share.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/verbs.h"

namespace tvllm::cli {

Verb add_bench_latency(CLI::App& bench);
Verb add_bench_serve(CLI::App& bench);

// Writes `text` as the whole file. An error names the path.
Status write_file(const std::string& path, const std::string& text);
// Adds it as one more line.
Status append_line(const std::string& path, const std::string& text);

}  // namespace tvllm::cli
