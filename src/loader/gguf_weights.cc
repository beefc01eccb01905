// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_weights.h"

namespace tvllm::loader {

const std::string& GgufWeights::path() const {
  return file_.path();
}

std::span<const TensorInfo> GgufWeights::tensors() const {
  return file_.tensors();
}

const TensorInfo* GgufWeights::find(std::string_view name) const {
  return file_.find_tensor(name);
}

void GgufWeights::dont_need(const TensorInfo& tensor) const {
  file_.dont_need(tensor);
}

}  // namespace tvllm::loader
