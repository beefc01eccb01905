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
