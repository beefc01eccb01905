// SPDX-License-Identifier: Apache-2.0
// Tensors and weight matrices for tests of operations, the same from the same seed everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace tvllm::testing {

// A matrix of floats with its memory.
struct Tensor {
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::vector<float> data;  // [num_rows, num_cols]

  Tensor() = default;
  Tensor(std::int64_t rows, std::int64_t cols)
      : num_rows(rows), num_cols(cols), data(static_cast<std::size_t>(rows * cols)) {}

  FloatMatrix view() { return {data.data(), num_rows, num_cols}; }
  const float* row(std::int64_t r) const { return data.data() + r * num_cols; }
  float* row(std::int64_t r) { return data.data() + r * num_cols; }
  double at(std::int64_t r, std::int64_t c) const {
    return static_cast<double>(data[static_cast<std::size_t>(r * num_cols + c)]);
  }
};

// Bell-shaped, with mean 0 and standard deviation `scale`.
Tensor random_tensor(std::int64_t num_rows, std::int64_t num_cols, std::uint32_t seed,
                     double scale = 1.0);

// A matrix in a type of model files. The bytes stand at an odd address, as they may in a file.
struct Weights {
  DType dtype = DType::kF32;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::vector<std::byte> bytes;

  WeightView view() const { return {dtype, num_rows, num_cols, bytes.data() + 1}; }
};

// Values of about standard deviation 1 / sqrt(num_cols), so that products with them keep their
// size. Blocks have random integers and random scales, some of them negative.
Weights random_weights(DType dtype, std::int64_t num_rows, std::int64_t num_cols,
                       std::uint32_t seed);

// Uniform integers in [0, limit).
std::vector<std::int32_t> random_integers(std::size_t count, std::int32_t limit,
                                          std::uint32_t seed);

}  // namespace tvllm::testing
