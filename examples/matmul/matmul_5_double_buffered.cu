// SPDX-License-Identifier: Apache-2.0
// Rung 5: loads are vectors of 16 bytes that cp.async brings to shared memory beside the
// arithmetic: while the block computes on one pair of tiles, the next one arrives in the other
// buffer. Rung 4 waited for each tile; and its loads went through registers.
//
//   block tile 128 x 128, steps of 16 along k, 256 threads as 16 x 16
//   thread (ty, tx): rows ty + 16 i, columns 4 tx + j and 64 + 4 tx + j, so that its reads of b are
//   vectors, too
#include "backend/cuda/device.cuh"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/runtime/launch.h"
#include "examples/matmul/matmul.h"
#include "examples/matmul/tile_loader.cuh"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr int kTile = 128;
constexpr int kDepth = 16;
constexpr int kThreads = 256;
constexpr int kPer = 8;
// A warp reads two neighbouring rows of a at a time: a vector more between them, so that they lie
// in different banks.
template <typename T>
constexpr int kAPitch = kDepth + 16 / static_cast<int>(sizeof(T));

// Four neighbours of shared memory as f32.
__device__ __forceinline__ void load4(float (&out)[4], const float* from) {
  const float4 v = load_vector<float4>(from);
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
  out[3] = v.w;
}
__device__ __forceinline__ void load4(float (&out)[4], const Bf16* from) {
  const uint2 v = load_vector<uint2>(from);
  out[0] = __uint_as_float(v.x << 16);
  out[1] = __uint_as_float(v.x & 0xffff0000u);
  out[2] = __uint_as_float(v.y << 16);
  out[3] = __uint_as_float(v.y & 0xffff0000u);
}

template <typename T, bool kVectors>
__global__ void __launch_bounds__(kThreads, 2) matmul_double_buffered_kernel(Matmul<T> product) {
  __shared__ SharedArray<T, 2 * kTile * kAPitch<T>> a_tiles;  // [buffer, row, k]
  __shared__ SharedArray<T, 2 * kDepth * kTile> b_tiles;      // [buffer, k, column]
  const auto [m, n, k] = product.shape;
  const MatrixView<T> a_matrix = {product.a, m, k};
  const MatrixView<T> b_matrix = {product.b, k, n};
  const int tx = static_cast<int>(threadIdx.x) % 16;
  const int ty = static_cast<int>(threadIdx.x) / 16;
  const int first_row = static_cast<int>(blockIdx.y) * kTile;
  const int first_column = static_cast<int>(blockIdx.x) * kTile;

  const auto load = [&](int buffer, int first) {
    load_tile<kThreads, kTile, kDepth, kVectors>(
        a_tiles.data() + buffer * kTile * kAPitch<T>, a_matrix, first_row, first,
        [](int row, int column) { return row * kAPitch<T> + column; });
    load_tile<kThreads, kDepth, kTile, kVectors>(
        b_tiles.data() + buffer * kDepth * kTile, b_matrix, first, first_column,
        [](int row, int column) { return row * kTile + column; });
    ptx::cp_async_commit();
  };

  float sums[kPer][kPer] = {};
  load(0, 0);
  int buffer = 0;
  for (int first = 0; first < k; first += kDepth, buffer ^= 1) {
    ptx::cp_async_wait<0>();
    __syncthreads();  // this tile has come, and nobody reads the other one any more
    if (first + kDepth < k) load(buffer ^ 1, first + kDepth);
    const T* const a_tile = a_tiles.data() + buffer * kTile * kAPitch<T>;
    const T* const b_tile = b_tiles.data() + buffer * kDepth * kTile;
    TVLLM_UNROLL
    for (int group = 0; group < kDepth; group += 4) {
      float a[kPer][4];
      TVLLM_UNROLL
      for (int i = 0; i < kPer; ++i)
        load4(a[i], a_tile + (ty + 16 * i) * kAPitch<T> + group);
      TVLLM_UNROLL
      for (int depth = 0; depth < 4; ++depth) {
        float b[2][4];
        load4(b[0], b_tile + (group + depth) * kTile + 4 * tx);
        load4(b[1], b_tile + (group + depth) * kTile + 64 + 4 * tx);
        TVLLM_UNROLL
        for (int i = 0; i < kPer; ++i) {
          TVLLM_UNROLL
          for (int j = 0; j < kPer; ++j)
            sums[i][j] += a[i][depth] * b[j / 4][j % 4];
        }
      }
    }
  }
  TVLLM_UNROLL
  for (int i = 0; i < kPer; ++i) {
    TVLLM_UNROLL
    for (int j = 0; j < kPer; ++j) {
      const int row = first_row + ty + 16 * i;
      const int column = first_column + 64 * (j / 4) + 4 * tx + j % 4;
      if (row < m && column < n)
        product.c[std::size_t(row) * n + column] = from_float<T>(sums[i][j]);
    }
  }
}

}  // namespace

template <typename T>
Status matmul_double_buffered(const Stream& stream, const Matmul<T>& product) {
  const auto [m, n, k] = product.shape;
  const bool has_vectors = has_vector_rows(product.a, k) && has_vector_rows(product.b, n);
  return launch(stream,
                {.kernel = "matmul_double_buffered",
                 .grid = {unsigned(ceil_div(n, kTile)), unsigned(ceil_div(m, kTile))},
                 .block = {kThreads}},
                has_vectors ? matmul_double_buffered_kernel<T, true>
                            : matmul_double_buffered_kernel<T, false>,
                product);
}

template Status matmul_double_buffered(const Stream&, const Matmul<float>&);
template Status matmul_double_buffered(const Stream&, const Matmul<Bf16>&);

}  // namespace tvllm::examples
