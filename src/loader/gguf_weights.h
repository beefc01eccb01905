// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "loader/gguf.h"
#include "loader/weight_source.h"

namespace tvllm::loader {

// The tensors of a GGUF file as the weights of a model. Owns the open file: destroying it unmaps
// the weights. Thread-safe.
class GgufWeights final : public WeightSource {
 public:
  explicit GgufWeights(GgufFile file) : file_(std::move(file)) {}

  const std::string& path() const override;
  std::span<const TensorInfo> tensors() const override;
  const TensorInfo* find(std::string_view name) const override;
  void dont_need(const TensorInfo& tensor) const override;

  const GgufFile& file() const { return file_; }

 private:
  const GgufFile file_;
};

}  // namespace tvllm::loader
