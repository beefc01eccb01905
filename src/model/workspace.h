// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/backend.h"

namespace tvllm::model {

// A matrix of activations in the backend's memory, as large as the largest batch needs it.
class Activation {
 public:
  Activation(backend::Backend& backend, std::int64_t max_rows, std::int64_t num_cols)
      : buffer_(backend.allocate(static_cast<std::size_t>(max_rows * num_cols) * sizeof(float))),
        num_cols_(num_cols) {}

  // The first `num_rows` rows: [num_rows, num_cols].
  TensorView rows(std::int64_t num_rows) const {
    return FloatMatrix(static_cast<float*>(buffer_->data()), num_rows, num_cols_);
  }

 private:
  std::unique_ptr<backend::Buffer> buffer_;
  std::int64_t num_cols_;
};

}  // namespace tvllm::model
