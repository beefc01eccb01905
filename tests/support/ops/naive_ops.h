// SPDX-License-Identifier: Apache-2.0
// What each operation means, in plain loops over doubles: the expectation of the parity tests.
// Shares no code with the engine, not even the reading of quantized blocks, which is written here
// element by element.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model_config.h"
#include "tensor/dtype.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::testing::naive {

// A row-major matrix of doubles.
struct Matrix {
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::vector<double> data;

  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t cols)
      : num_rows(rows), num_cols(cols), data(static_cast<std::size_t>(rows * cols)) {}
  explicit Matrix(const Tensor& tensor)
      : num_rows(tensor.num_rows),
        num_cols(tensor.num_cols),
        data(tensor.data.begin(), tensor.data.end()) {}

  double& at(std::int64_t r, std::int64_t c) {
    return data[static_cast<std::size_t>(r * num_cols + c)];
  }
  double at(std::int64_t r, std::int64_t c) const {
    return data[static_cast<std::size_t>(r * num_cols + c)];
  }
};

double weight_at(const Weights& weights, std::int64_t row, std::int64_t col);
Matrix dequantize(const Weights& weights);

// The value nearest to `value` that the type (kF32, kF16 or kBF16) can hold.
double round_to(DType dtype, double value);

// [T, C] x [R, C] -> [T, R]
Matrix matmul(const Matrix& x, const Matrix& weight);

// Rows of x as the quantized algorithm sees them: to the nearest multiple of (largest magnitude of
// the group) / 127.
Matrix quantize_activations(const Matrix& x, std::int64_t group_len);

Matrix rms_norm(const Matrix& x, const std::vector<float>& weight, double eps);
Matrix silu_and_mul(const Matrix& gate_up);
Matrix gelu_and_mul(const Matrix& gate_up);

// Rotates the leading rope_dim elements of a vector that stands at `position`.
void rotate(std::span<double> head, std::span<const float> inv_freqs, RopeStyle style,
            std::int32_t position);

// Attention of one query over the rows begin .. end - 1 of k and v, [*, head_dim] each.
std::vector<double> attend(std::span<const double> q, const Matrix& k, const Matrix& v,
                           std::int64_t begin, std::int64_t end, double scale);

// sum of squared differences / sum of squares of `expected`
double nmse(std::span<const float> got, std::span<const double> expected);

}  // namespace tvllm::testing::naive
