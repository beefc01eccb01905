// SPDX-License-Identifier: Apache-2.0
// Rung 6: tensor cores. A warp multiplies 16 x 16 by 16 x 8 elements with one instruction; the
// multiplication itself is no longer what takes time, so tiles are kept coming: four stages of
// cp.async, and ldmatrix, which spreads a tile over a warp's registers as mma wants it.
//
//   block tile 128 x 128, steps of 32 along k, 8 warps as 2 x 4, each 64 x 32 = 4 x 4 mma tiles
//
// Tiles are swizzled: vectors of 16 bytes change places within a row so that the eight rows that
// ldmatrix reads at a time lie in different banks.
//
//   a: 4 vectors a row; vector v of row r lies at v ^ (r / 2 % 4)
//   b: 16 vectors a row; vector v of row r lies at v ^ (r % 8)
#include "backend/cuda/device.cuh"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/runtime/launch.h"
#include "examples/matmul/matmul.h"
#include "examples/matmul/tile_loader.cuh"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr int kTile = 128;
constexpr int kDepth = 32;
constexpr int kThreads = 256;
constexpr int kStages = 4;
constexpr int kATile = kTile * kDepth;  // elements
constexpr int kBTile = kDepth * kTile;
constexpr int kSharedBytes =
    kStages * (kATile + kBTile) * static_cast<int>(sizeof(Bf16));  // 64 KiB
constexpr int kWarpRows = 64;
constexpr int kWarpColumns = 32;
constexpr int kRowTiles = kWarpRows / 16;
constexpr int kColumnTiles = kWarpColumns / 8;

__device__ __forceinline__ int place_in_a(int row, int column) {
  return row * kDepth + ((column / 8) ^ (row / 2 % 4)) * 8 + column % 8;
}
__device__ __forceinline__ int place_in_b(int row, int column) {
  return row * kTile + ((column / 8) ^ (row % 8)) * 8 + column % 8;
}

// One step: 32 along k, from one stage's tiles.
__device__ __forceinline__ void multiply_stage(const Bf16* a_tile, const Bf16* b_tile, int warp_row,
                                               int warp_column,
                                               float (&sums)[kRowTiles][kColumnTiles][4]) {
  const int lane = lane_idx();
  TVLLM_UNROLL
  for (int depth = 0; depth < kDepth; depth += 16) {
    std::uint32_t a[kRowTiles][4];
    std::uint32_t b[kColumnTiles / 2][4];  // two tiles each
    TVLLM_UNROLL
    for (int i = 0; i < kRowTiles; ++i) {
      ptx::ldmatrix_x4(a[i],
                       a_tile + place_in_a(warp_row + 16 * i + lane % 16, depth + lane / 16 * 8));
    }
    TVLLM_UNROLL
    for (int j = 0; j < kColumnTiles / 2; ++j) {
      ptx::ldmatrix_x4_trans(
          b[j], b_tile + place_in_b(depth + lane % 16, warp_column + 16 * j + lane / 16 * 8));
    }
    TVLLM_UNROLL
    for (int i = 0; i < kRowTiles; ++i) {
      TVLLM_UNROLL
      for (int j = 0; j < kColumnTiles; ++j) {
        const std::uint32_t pair[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
        ptx::mma_m16n8k16_bf16(sums[i][j], a[i], pair, sums[i][j]);
      }
    }
  }
}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads, 2)
    matmul_tensor_cores_bf16_kernel(Matmul<Bf16> product) {
  Bf16* const tiles = dynamic_shared<Bf16>();  // [stage, a tile and b tile]
  const auto [m, n, k] = product.shape;
  const MatrixView<Bf16> a_matrix = {product.a, m, k};
  const MatrixView<Bf16> b_matrix = {product.b, k, n};
  const int first_row = static_cast<int>(blockIdx.y) * kTile;
  const int first_column = static_cast<int>(blockIdx.x) * kTile;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / 4 * kWarpRows;
  const int warp_column = warp % 4 * kWarpColumns;
  const int num_steps = ceil_div(k, kDepth);

  // Each step commits a group, the last ones an empty one, so that the count of groups stays right.
  const auto load = [&](int step) {
    if (step < num_steps) {
      Bf16* const a_tile = tiles + step % kStages * (kATile + kBTile);
      load_tile<kThreads, kTile, kDepth, kVectors>(a_tile, a_matrix, first_row, step * kDepth,
                                                   place_in_a);
      load_tile<kThreads, kDepth, kTile, kVectors>(a_tile + kATile, b_matrix, step * kDepth,
                                                   first_column, place_in_b);
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
    const Bf16* const a_tile = tiles + step % kStages * (kATile + kBTile);
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
        if (row < m && column < n) {
          product.c[std::size_t(row) * n + column] = from_float<Bf16>(sums[i][j][e]);
        }
      }
    }
  }
}

}  // namespace

Status matmul_tensor_cores_bf16(const Stream& stream, const Matmul<Bf16>& product) {
  const auto [m, n, k] = product.shape;
  const bool has_vectors = has_vector_rows(product.a, k) && has_vector_rows(product.b, n);
  return launch(
      stream,
      {.kernel = "matmul_tensor_cores_bf16",
       .grid = {unsigned(ceil_div(n, kTile)), unsigned(ceil_div(m, kTile))},
       .block = {kThreads},
       .shared_bytes = kSharedBytes},
      has_vectors ? matmul_tensor_cores_bf16_kernel<true> : matmul_tensor_cores_bf16_kernel<false>,
      product);
}

}  // namespace tvllm::examples
