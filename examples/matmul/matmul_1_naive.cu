// SPDX-License-Identifier: Apache-2.0
// Rung 1: one thread an element, as a loop on paper. Neighbouring threads take neighbouring rows,
// so a warp's loads of `a` go to 16 rows, k elements apart: 16 transactions for 16 numbers.
#include "backend/cuda/device.cuh"
#include "backend/cuda/runtime/launch.h"
#include "examples/matmul/matmul.h"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr unsigned kSide = 16;

template <typename T>
__global__ void matmul_naive_kernel(Matmul<T> product) {
  const auto [m, n, k] = product.shape;
  const int row = static_cast<int>(blockIdx.x * kSide + threadIdx.x);
  const int column = static_cast<int>(blockIdx.y * kSide + threadIdx.y);
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
Status matmul_naive(const Stream& stream, const Matmul<T>& product) {
  const auto [m, n, k] = product.shape;
  return launch(stream,
                {.kernel = "matmul_naive",
                 .grid = {ceil_div(unsigned(m), kSide), ceil_div(unsigned(n), kSide)},
                 .block = {kSide, kSide}},
                matmul_naive_kernel<T>, product);
}

template Status matmul_naive(const Stream&, const Matmul<float>&);
template Status matmul_naive(const Stream&, const Matmul<Bf16>&);

}  // namespace tvllm::examples
