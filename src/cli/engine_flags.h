// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine_config.h"
#include "base/result.h"
#include "core/sampling_params.h"

namespace CLI {
class App;
}

namespace tvllm::cli {

// The positional MODEL and the engine's options, with vLLM's names. `config` outlives the parse.
void add_engine_flags(CLI::App& app, app::EngineConfig& config);

// --trace-buffer-bytes, for verbs that show the trace to somebody. Sets its default.
void add_trace_flag(CLI::App& app, app::EngineConfig& config);

struct SamplingFlags {
  SamplingParams params;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
};

// --max-tokens, --temperature, --top-p, ... with the values in `flags` as defaults.
void add_sampling_flags(CLI::App& app, SamplingFlags& flags);

// The parameters in effective form, with a fresh seed where none was given.
Result<SamplingParams> settle_sampling(const SamplingFlags& flags, std::int32_t vocab_size);

// A line on a terminal's standard error that follows the loading of layers; nothing elsewhere.
void show_load_progress(app::EngineConfig& config);

}  // namespace tvllm::cli
