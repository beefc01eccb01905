// SPDX-License-Identifier: Apache-2.0
// Rung 3: a block computes a tile of `c` and walks along k in steps of a tile. It reads each tile
// of `a` and `b` once into shared memory, where every element is used 32 times.
#include "backend/cuda/device.cuh"
#include "backend/cuda/runtime/launch.h"
#include "examples/matmul/matmul.h"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr int kSide = 32;

template <typename T>
__global__ void matmul_shared_tiles_kernel(Matmul<T> product) {
  __shared__ SharedArray<float, kSide * kSide> a_tile;  // [row, k]
  __shared__ SharedArray<float, kSide * kSide> b_tile;  // [k, column]
  const auto [m, n, k] = product.shape;
  const int tx = static_cast<int>(threadIdx.x);
  const int ty = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * kSide + ty;
  const int column = static_cast<int>(blockIdx.x) * kSide + tx;

  float sum = 0.0f;
  for (int first = 0; first < k; first += kSide) {
    const bool has_a = row < m && first + tx < k;
    const bool has_b = column < n && first + ty < k;
    a_tile[ty * kSide + tx] = has_a ? to_float(product.a[std::size_t(row) * k + first + tx]) : 0.0f;
    b_tile[ty * kSide + tx] =
        has_b ? to_float(product.b[std::size_t(first + ty) * n + column]) : 0.0f;
    __syncthreads();
    for (int i = 0; i < kSide; ++i)
      sum += a_tile[ty * kSide + i] * b_tile[i * kSide + tx];
    __syncthreads();
  }
  if (row < m && column < n) product.c[std::size_t(row) * n + column] = from_float<T>(sum);
}

}  // namespace

template <typename T>
Status matmul_shared_tiles(const Stream& stream, const Matmul<T>& product) {
  const auto [m, n, k] = product.shape;
  return launch(stream,
                {.kernel = "matmul_shared_tiles",
                 .grid = {unsigned(ceil_div(n, kSide)), unsigned(ceil_div(m, kSide))},
                 .block = {kSide, kSide}},
                matmul_shared_tiles_kernel<T>, product);
}

template Status matmul_shared_tiles(const Stream&, const Matmul<float>&);
template Status matmul_shared_tiles(const Stream&, const Matmul<Bf16>&);

}  // namespace tvllm::examples
