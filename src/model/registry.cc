// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "model/gemma3.h"
#include "model/llama.h"
#include "model/model.h"

namespace tvllm::model {

namespace {

using Factory = Result<std::unique_ptr<Model>> (*)(const ModelConfig&, const loader::WeightSource&,
                                                   backend::Backend&, const ModelLimits&,
                                                   const LoadProgress&);

struct Architecture {
  std::string_view name;  // GGUF's general.architecture
  Factory make;
};

constexpr std::array kArchitectures = {
    Architecture{"llama", make_llama},
    Architecture{"gemma3", make_gemma3},
};

}  // namespace

Result<std::unique_ptr<Model>> make_model(const ModelConfig& config,
                                          const loader::WeightSource& weights,
                                          backend::Backend& backend, const ModelLimits& limits,
                                          const LoadProgress& on_progress) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == config.architecture) {
      return architecture.make(config, weights, backend, limits, on_progress);
    }
    str_append(known, known.empty() ? "" : ", ", architecture.name);
  }
  return make_error(ErrorCode::kUnsupported,
                    str_cat(weights.path(), ": general.architecture ", quoted(config.architecture),
                            " has no model; known are: ", known),
                    "general.architecture");
}

}  // namespace tvllm::model
