// SPDX-License-Identifier: Apache-2.0
// Rung 6 for f32: tensor cores multiply numbers of 10 mantissa bits (tf32) and add in f32.
//
//   block tile 128 x 128, steps of 16 along k, 8 warps as 2 x 4, each 64 x 32 = 4 x 4 mma tiles
//
// To ldmatrix a row of 8 16-bit elements is one of 4 f32, and what a lane gets is what mma wants of
// a. It cannot transpose 32-bit elements, so b comes by plain loads. Pads keep both free of bank
// conflicts: eight rows of a at a pitch of 80 bytes touch all 32 banks, as do four rows of b, each
// eight columns, at a pitch of 136 words.
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
constexpr int kStages = 3;
constexpr int kAPitch = kDepth + 4;
constexpr int kBPitch = kTile + 8;
constexpr int kATile = kTile * kAPitch;  // elements
constexpr int kBTile = kDepth * kBPitch;
constexpr int kSharedBytes =
    kStages * (kATile + kBTile) * static_cast<int>(sizeof(float));  // 56 KiB
constexpr int kWarpRows = 64;
constexpr int kWarpColumns = 32;
constexpr int kRowTiles = kWarpRows / 16;
constexpr int kColumnTiles = kWarpColumns / 8;

// One step: 16 along k, from one stage's tiles.
__device__ __forceinline__ void multiply_stage(const float* a_tile, const float* b_tile,
                                               int warp_row, int warp_column,
                                               float (&sums)[kRowTiles][kColumnTiles][4]) {
  const int lane = lane_idx();
  const int g = lane / 4;
  const int t = lane % 4;
  TVLLM_UNROLL
  for (int depth = 0; depth < kDepth; depth += 8) {
    std::uint32_t a[kRowTiles][4];
    std::uint32_t b[kColumnTiles][2];
    TVLLM_UNROLL
    for (int i = 0; i < kRowTiles; ++i) {
      ptx::ldmatrix_x4(a[i],
                       a_tile + (warp_row + 16 * i + lane % 16) * kAPitch + depth + lane / 16 * 4);
      TVLLM_UNROLL
      for (int r = 0; r < 4; ++r)
        a[i][r] = ptx::round_to_tf32(__uint_as_float(a[i][r]));
    }
    TVLLM_UNROLL
    for (int j = 0; j < kColumnTiles; ++j) {
      TVLLM_UNROLL
      for (int r = 0; r < 2; ++r) {
        b[j][r] =
            ptx::round_to_tf32(b_tile[(depth + t + 4 * r) * kBPitch + warp_column + 8 * j + g]);
      }
    }
    TVLLM_UNROLL
    for (int i = 0; i < kRowTiles; ++i) {
      TVLLM_UNROLL
      for (int j = 0; j < kColumnTiles; ++j)
        ptx::mma_m16n8k8_tf32(sums[i][j], a[i], b[j], sums[i][j]);
    }
  }
}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads, 2)
    matmul_tensor_cores_f32_kernel(Matmul<float> product) {
  float* const tiles = dynamic_shared<float>();  // [stage, a tile and b tile]
  const auto [m, n, k] = product.shape;
  const MatrixView<float> a_matrix = {product.a, m, k};
  const MatrixView<float> b_matrix = {product.b, k, n};
  const int first_row = static_cast<int>(blockIdx.y) * kTile;
  const int first_column = static_cast<int>(blockIdx.x) * kTile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / 4 * kWarpRows;
  const int warp_column = warp % 4 * kWarpColumns;
  const int num_steps = ceil_div(k, kDepth);

  // Each step commits a group, the last ones an empty one, so that the count of groups stays right.
  const auto load = [&](int step) {
    if (step < num_steps) {
      float* const a_tile = tiles + step % kStages * (kATile + kBTile);
      load_tile<kThreads, kTile, kDepth, kVectors>(
          a_tile, a_matrix, first_row, step * kDepth,
          [](int row, int column) { return row * kAPitch + column; });
      load_tile<kThreads, kDepth, kTile, kVectors>(
          a_tile + kATile, b_matrix, step * kDepth, first_column,
          [](int row, int column) { return row * kBPitch + column; });
    }
    ptx::cp_async_commit();
  };

  float sums[kRowTiles][kColumnTiles][4] = {};
  for (int step = 0; step < kStages - 1; ++step)
    load(step);
  for (int step = 0; step < num_steps; ++step) {
    ptx::cp_async_wait<kStages - 2>();
    __syncthreads();  // this stage has come, and nobody reads the one that is filled next
    load(step + kStages - 1);
    const float* const a_tile = tiles + step % kStages * (kATile + kBTile);
    multiply_stage(a_tile, a_tile + kATile, warp_row, warp_column, sums);
  }

  const int g = lane_idx() / 4;
  const int t = lane_idx() % 4;
  TVLLM_UNROLL
  for (int i = 0; i < kRowTiles; ++i) {
    TVLLM_UNROLL
    for (int j = 0; j < kColumnTiles; ++j) {
      TVLLM_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int row = first_row + warp_row + 16 * i + g + 8 * (e / 2);
        const int column = first_column + warp_column + 8 * j + 2 * t + e % 2;
        if (row < m && column < n) product.c[std::size_t(row) * n + column] = sums[i][j][e];
      }
    }
  }
}

}  // namespace

Status matmul_tensor_cores_f32(const Stream& stream, const Matmul<float>& product) {
  const auto [m, n, k] = product.shape;
  const bool has_vectors = has_vector_rows(product.a, k) && has_vector_rows(product.b, n);
  return launch(
      stream,
      {.kernel = "matmul_tensor_cores_f32",
       .grid = {unsigned(ceil_div(n, kTile)), unsigned(ceil_div(m, kTile))},
       .block = {kThreads},
       .shared_bytes = kSharedBytes},
      has_vectors ? matmul_tensor_cores_f32_kernel<true> : matmul_tensor_cores_f32_kernel<false>,
      product);
}

}  // namespace tvllm::examples
