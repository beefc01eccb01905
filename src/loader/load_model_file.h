// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "core/model_config.h"
#include "core/tokenizer_data.h"
#include "loader/weight_source.h"

namespace tvllm::loader {

// A model as it came from a file. `weights` keeps the file mapped.
struct ModelFile {
  ModelConfig config;
  TokenizerData tokenizer;
  std::unique_ptr<WeightSource> weights;
};

// Opens a GGUF file and reads everything but the weights, whose pages the kernel begins to fetch.
// A bad file is an error of one line that names the file, the field and the offset; an architecture
// this build does not know is kUnsupported and named. Never throws.
Result<ModelFile> load_model_file(const std::string& path);

}  // namespace tvllm::loader
