// SPDX-License-Identifier: Apache-2.0
// Rung 4: a thread computes 8 x 8 elements of `c` in registers. Per step of k it reads 16 numbers
// from shared memory for 64 multiplications; rung 3 reads 2 for 1, and shared memory was the limit.
//
//   block tile 128 x 128, 256 threads as 16 x 16
//   thread (ty, tx): rows ty + 16 i, columns tx + 16 j, so that a warp's reads of b are consecutive
#include "backend/cuda/device.cuh"
#include "backend/cuda/runtime/launch.h"
#include "examples/matmul/matmul.h"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr int kTile = 128;
constexpr int kDepth = 8;
constexpr int kThreads = 256;
constexpr int kSide = 16;            // threads a row and a column of the tile
constexpr int kPer = kTile / kSide;  // elements a thread in each direction
constexpr int kAPitch = kTile + 4;  // a is stored by columns: the pad spreads the stores over banks

template <typename T>
__global__ void __launch_bounds__(kThreads) matmul_register_tiles_kernel(Matmul<T> product) {
  __shared__ SharedArray<float, kDepth * kAPitch> a_tile;  // [k, row]
  __shared__ SharedArray<float, kDepth * kTile> b_tile;    // [k, column]
  const auto [m, n, k] = product.shape;
  const int thread = static_cast<int>(threadIdx.x);
  const int tx = thread % kSide;
  const int ty = thread / kSide;
  const int first_row = static_cast<int>(blockIdx.y) * kTile;
  const int first_column = static_cast<int>(blockIdx.x) * kTile;

  float sums[kPer][kPer] = {};
  for (int first = 0; first < k; first += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kThreads) {
      const int row = i / kDepth;
      const int depth = i % kDepth;
      const bool is_in = first_row + row < m && first + depth < k;
      a_tile[depth * kAPitch + row] =
          is_in ? to_float(product.a[std::size_t(first_row + row) * k + first + depth]) : 0.0f;
    }
    for (int i = thread; i < kTile * kDepth; i += kThreads) {
      const int depth = i / kTile;
      const int column = i % kTile;
      const bool is_in = first_column + column < n && first + depth < k;
      b_tile[i] = is_in
                      ? to_float(product.b[std::size_t(first + depth) * n + first_column + column])
                      : 0.0f;
    }
    __syncthreads();
    TVLLM_UNROLL
    for (int depth = 0; depth < kDepth; ++depth) {
      float a[kPer];
      float b[kPer];
      TVLLM_UNROLL
      for (int i = 0; i < kPer; ++i)
        a[i] = a_tile[depth * kAPitch + ty + kSide * i];
      TVLLM_UNROLL
      for (int j = 0; j < kPer; ++j)
        b[j] = b_tile[depth * kTile + tx + kSide * j];
      TVLLM_UNROLL
      for (int i = 0; i < kPer; ++i) {
        TVLLM_UNROLL
        for (int j = 0; j < kPer; ++j)
          sums[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }
  TVLLM_UNROLL
  for (int i = 0; i < kPer; ++i) {
    TVLLM_UNROLL
    for (int j = 0; j < kPer; ++j) {
      const int row = first_row + ty + kSide * i;
      const int column = first_column + tx + kSide * j;
      if (row < m && column < n)
        product.c[std::size_t(row) * n + column] = from_float<T>(sums[i][j]);
    }
  }
}

}  // namespace

template <typename T>
Status matmul_register_tiles(const Stream& stream, const Matmul<T>& product) {
  const auto [m, n, k] = product.shape;
  return launch(stream,
                {.kernel = "matmul_register_tiles",
                 .grid = {unsigned(ceil_div(n, kTile)), unsigned(ceil_div(m, kTile))},
                 .block = {kThreads}},
                matmul_register_tiles_kernel<T>, product);
}

template Status matmul_register_tiles(const Stream&, const Matmul<float>&);
template Status matmul_register_tiles(const Stream&, const Matmul<Bf16>&);

}  // namespace tvllm::examples
