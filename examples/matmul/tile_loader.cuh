// SPDX-License-Identifier: Apache-2.0
// How rungs 5 and 6 bring a tile of a matrix to shared memory.
#pragma once

#include "backend/cuda/device.cuh"
#include "backend/cuda/ptx.cuh"

namespace tvllm::examples {

// A row-major matrix in device memory.
template <typename T>
struct MatrixView {
  const T* data = nullptr;
  int rows = 0;
  int columns = 0;
};

// Whether each row of a matrix begins at a multiple of 16 bytes, so that whole vectors can be
// copied.
template <typename T>
bool has_vector_rows(const T* data, int columns) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
         static_cast<std::size_t>(columns) * sizeof(T) % 16 == 0;
}

// Copies kRows x kColumns elements from (first_row, first_column) on into `tile`, whose element
// (row, column) is at place(row, column); what lies outside of the matrix is zero. A vector of 16
// bytes, kColumns a multiple of it, stays together in the tile.
//
// kVectors: by cp.async, which the caller commits and waits for; else by plain loads, element by
// element, for rows that do not begin at a multiple of 16 bytes.
template <int kThreads, int kRows, int kColumns, bool kVectors, typename T, typename Place>
__device__ __forceinline__ void load_tile(T* tile, const MatrixView<T>& matrix, int first_row,
                                          int first_column, Place place) {
  constexpr int kPerVector = 16 / static_cast<int>(sizeof(T));
  constexpr int kVectorsPerRow = kColumns / kPerVector;
  static_assert(kColumns % kPerVector == 0);
  TVLLM_UNROLL
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kVectorsPerRow; i += kThreads) {
    const int row = i / kVectorsPerRow;
    const int column = i % kVectorsPerRow * kPerVector;
    T* const to = tile + place(row, column);
    const std::size_t from =
        static_cast<std::size_t>(first_row + row) * matrix.columns + first_column + column;
    if constexpr (kVectors) {
      // Rows are whole vectors: one that begins inside of the matrix ends inside.
      const bool is_in = first_row + row < matrix.rows && first_column + column < matrix.columns;
      cuda::ptx::cp_async<16>(to, is_in ? matrix.data + from : matrix.data, is_in ? 16 : 0);
    } else {
      for (int j = 0; j < kPerVector; ++j) {
        const bool is_in =
            first_row + row < matrix.rows && first_column + column + j < matrix.columns;
        to[j] = is_in ? matrix.data[from + j] : T{};
      }
    }
  }
}

}  // namespace tvllm::examples
