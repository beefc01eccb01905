// SPDX-License-Identifier: Apache-2.0
// Rung 2: the same loop, but neighbouring threads take neighbouring columns. A warp reads 32
// consecutive elements of `b` in one transaction and one element of `a` for all.
#include "backend/cuda/device.cuh"
#include "backend/cuda/runtime/launch.h"
#include "examples/matmul/matmul.h"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr unsigned kColumns = 32;  // a warp
constexpr unsigned kRows = 8;

template <typename T>
__global__ void matmul_coalesced_kernel(Matmul<T> product) {
  const auto [m, n, k] = product.shape;
  const int row = static_cast<int>(blockIdx.y * kRows + threadIdx.y);
  const int column = static_cast<int>(blockIdx.x * kColumns + threadIdx.x);
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    sum += to_float(product.a[std::size_t(row) * k + i]) *
           to_float(product.b[std::size_t(i) * n + column]);
  }
  product.c[std::size_t(row) * n + column] = from_float<T>(sum);
}

}  // namespace

template <typename T>
Status matmul_coalesced(const Stream& stream, const Matmul<T>& product) {
  const auto [m, n, k] = product.shape;
  return launch(stream,
                {.kernel = "matmul_coalesced",
                 .grid = {ceil_div(unsigned(n), kColumns), ceil_div(unsigned(m), kRows)},
                 .block = {kColumns, kRows}},
                matmul_coalesced_kernel<T>, product);
}

template Status matmul_coalesced(const Stream&, const Matmul<float>&);
template Status matmul_coalesced(const Stream&, const Matmul<Bf16>&);

}  // namespace tvllm::examples
