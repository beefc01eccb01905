// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace tvllm {

// A row-major matrix of floats that somebody else owns: activations, logits. Rows may be further
// apart than they are long, so that a column range of a matrix is a view too.
//
//   data -> [num_rows, num_cols], element (r, c) at data[r * row_stride + c]
template <typename T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t row_stride = 0;

  MatrixView() = default;
  MatrixView(T* first, std::int64_t rows, std::int64_t cols)
      : data(first), num_rows(rows), num_cols(cols), row_stride(cols) {}
  MatrixView(T* first, std::int64_t rows, std::int64_t cols, std::int64_t stride)
      : data(first), num_rows(rows), num_cols(cols), row_stride(stride) {}

  // A writable view serves where a read-only one is asked for.
  operator MatrixView<const T>() const {  // NOLINT(google-explicit-constructor)
    return {data, num_rows, num_cols, row_stride};
  }

  T* row(std::int64_t r) const { return data + r * row_stride; }
  std::span<T> row_span(std::int64_t r) const {
    return {row(r), static_cast<std::size_t>(num_cols)};
  }
  MatrixView rows(std::int64_t first, std::int64_t count) const {
    return {row(first), count, num_cols, row_stride};
  }
  MatrixView cols(std::int64_t first, std::int64_t count) const {
    return {data + first, num_rows, count, row_stride};
  }
};

using FloatMatrix = MatrixView<float>;
using ConstFloatMatrix = MatrixView<const float>;

// The same with the element type as a value, and the memory a backend's (a device pointer on a
// GPU): what crosses the backend interface. F32 on the CPU; F32, F16 or BF16 on a GPU.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t row_stride = 0;  // in elements

  TensorView() = default;
  TensorView(FloatMatrix m)  // NOLINT(google-explicit-constructor)
      : data(m.data), num_rows(m.num_rows), num_cols(m.num_cols), row_stride(m.row_stride) {}

  // REQUIRES: dtype == kF32 and host memory.
  FloatMatrix as_float() const {
    return {static_cast<float*>(data), num_rows, num_cols, row_stride};
  }
};

// A weight matrix in a model file: `num_rows` outputs of `num_cols` inputs each, every row packed
// in blocks of `dtype`. Points into the mapped file, which outlives every user of the view.
struct WeightView {
  DType dtype = DType::kF32;
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  const std::byte* data = nullptr;

  const std::byte* row(std::int64_t r) const { return data + r * row_bytes(dtype, num_cols); }
};

}  // namespace tvllm
