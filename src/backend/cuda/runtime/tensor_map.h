// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/cuda/numbers.h"
#include "base/result.h"

namespace tvllm::cuda {

// What TMA knows of a matrix in device memory: a kernel's parameter, `const __grid_constant__
// TensorMap`.
struct alignas(64) TensorMap {
  std::byte bytes[128];
};

// Boxes of box_rows x box_columns elements of a row-major matrix, with the 128-byte swizzle;
// outside of the matrix they read zeros. On a GPU only. REQUIRES: data and rows begin at multiples
// of 16 bytes; box_columns is 64; box_rows <= 256
Result<TensorMap> make_tensor_map(const Bf16* data, int rows, int columns, int box_rows,
                                  int box_columns);

}  // namespace tvllm::cuda
