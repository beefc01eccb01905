// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/strings.h"

namespace tvllm::cli {

namespace {

Status write(const std::string& path, const char* mode, const std::string& text) {
  const auto failed = [&path] {
    return make_error(ErrorCode::kIo, str_cat(tvllm::quoted(path), ": ", std::strerror(errno)));
  };
  std::FILE* const file = std::fopen(path.c_str(), mode);
  if (file == nullptr) return failed();
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !is_written) return failed();
  return {};
}

}  // namespace

Verb add_bench(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("bench", "Measure the engine, or any OpenAI-compatible server");
  app->require_subcommand(1);
  const std::vector<Verb> benches = {add_bench_latency(*app), add_bench_throughput(*app),
                                     add_bench_serve(*app)};
  return {app, [benches] {
            for (const Verb& bench : benches) {
              if (bench.app->parsed()) return bench.run();
            }
            return kExitBadInput;
          }};
}

Status reserve_queue(app::EngineConfig& config, std::int64_t num_requests) {
  constexpr std::int64_t kMost = 1 << 24;  // as --max-queued-requests
  if (num_requests > kMost) {
    return invalid_argument(
        str_cat("these are ", num_requests, " answers at once; at most ", kMost, " can be"));
  }
  config.max_queued_requests =
      std::max(config.max_queued_requests, static_cast<std::int32_t>(num_requests));
  return {};
}

Status write_file(const std::string& path, const std::string& text) {
  return write(path, "w", text);
}

Status append_line(const std::string& path, const std::string& text) {
  return write(path, "a", text + "\n");
}

}  // namespace tvllm::cli
