// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/prompts.h"

namespace CLI {
class App;
}

namespace tvllm::cli {

// --dataset-name, --num-prompts, --random-input-len, ...: the data sets of a benchmark under vLLM's
// names. `options` outlives the parse; its values are the defaults.
void add_prompt_flags(CLI::App& app, bench::PromptOptions& options);

}  // namespace tvllm::cli
