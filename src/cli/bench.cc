// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

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
  const std::vector<Verb> benches = {add_bench_latency(*app), add_bench_serve(*app)};
  return {app, [benches] {
            for (const Verb& bench : benches) {
              if (bench.app->parsed()) return bench.run();
            }
            return kExitBadInput;
          }};
}

Status write_file(const std::string& path, const std::string& text) {
  return write(path, "w", text);
}

Status append_line(const std::string& path, const std::string& text) {
  return write(path, "a", text + "\n");
}

}  // namespace tvllm::cli
