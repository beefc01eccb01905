// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "app/engine_config.h"
#include "core/sampling_params.h"

namespace CLI {
class App;
}

namespace tvllm::cli {

// The positional MODEL and the engine's options, with vLLM's names. `config` outlives the parse.
void add_engine_flags(CLI::App& app, app::EngineConfig& config);

// --max-tokens, --temperature, --top-p, ...
void add_sampling_flags(CLI::App& app, SamplingParams& params);

// A line on a terminal's standard error that follows the loading of layers; nothing elsewhere.
void show_load_progress(app::EngineConfig& config);

}  // namespace tvllm::cli
