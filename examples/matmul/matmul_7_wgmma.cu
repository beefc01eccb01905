// SPDX-License-Identifier: Apache-2.0
// Rung 7, Hopper alone (device_only): the tensor cores read both operands from shared memory by
// themselves (wgmma), and TMA brings whole tiles there with one instruction of one thread. Rung 6
// spent most of its instructions on moving operands: addresses, cp.async, ldmatrix.
//
//   block tile 128 x 256, steps of 64 along k, four stages of 48 KiB
//   warpgroup 0   one thread asks TMA for tiles, as soon as a stage is free
//   warpgroups 1, 2   64 rows each: 128 sums a thread, wgmma 64 x 256 x 16
//
//   full[stage]    one arrival and 48 KiB: the tiles have come
//   empty[stage]   eight arrivals, one a warp: nobody reads them any more
//
// As many blocks as multiprocessors; each takes every num_blocks-th tile of c, so that the next
// tile's operands come while this one's sums are stored. Tiles follow each other in columns of 8,
// so that blocks that run at a time share operands in the L2 cache.
#include "backend/cuda/device.cuh"
#include "backend/cuda/ptx_sm90.cuh"
#include "backend/cuda/runtime/launch.h"
#include "backend/cuda/runtime/tensor_map.h"
#include "examples/matmul/matmul.h"
#include "examples/matmul/tile_loader.cuh"

namespace tvllm::examples {
namespace {

using namespace tvllm::cuda;  // NOLINT(google-build-using-namespace)

constexpr int kTileRows = 128;
constexpr int kTileColumns = 256;
constexpr int kDepth = 64;
constexpr int kStages = 4;
constexpr int kThreads = 3 * 128;
constexpr int kBlockColumns = 64;           // of b: a row of 128 bytes, the width of the swizzle
constexpr int kATile = kTileRows * kDepth;  // elements
constexpr int kBTile = kDepth * kTileColumns;
constexpr int kStageElements = kATile + kBTile;
constexpr int kStageBytes = kStageElements * static_cast<int>(sizeof(Bf16));
constexpr int kBarrierBytes = 2 * kStages * 8;
constexpr int kSharedBytes = kStages * kStageBytes + kBarrierBytes;
static_assert(kSharedBytes <= 227 * 1024);

struct TileGrid {
  int rows = 0;  // tiles
  int columns = 0;
};

#ifdef TVLLM_HAS_SM90A

constexpr int kBBlock = kDepth * kBlockColumns;
constexpr int kColumnOfTiles = 8;

struct Tile {
  int first_row = 0;
  int first_column = 0;
};

__device__ __forceinline__ Tile tile_at(const TileGrid& grid, int idx) {
  const int per_group = kColumnOfTiles * grid.columns;
  const int first = idx / per_group * kColumnOfTiles;
  const int height = min(grid.rows - first, kColumnOfTiles);
  const int within = idx % per_group;
  return {(first + within % height) * kTileRows, within / height * kTileColumns};
}

// Where a ring of stages is: `parity` flips each time round.
struct Position {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Ring {
  Bf16* stages;         // [stage, a tile and b tile]
  std::uint64_t* full;  // [stage]
  std::uint64_t* empty;
};

// One thread.
__device__ __forceinline__ void produce(const Ring& ring, const TensorMap* a_map,
                                        const TensorMap* b_map, const TileGrid& grid, int k) {
  Position position;
  for (int idx = static_cast<int>(blockIdx.x); idx < grid.rows * grid.columns;
       idx += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_at(grid, idx);
    for (int first = 0; first < k; first += kDepth, position.advance()) {
      // A fresh barrier counts as one whose odd phase is over: the first round waits for nobody.
      ptx::mbarrier_wait(&ring.empty[position.stage], position.parity ^ 1);
      std::uint64_t* const full = &ring.full[position.stage];
      ptx::mbarrier_arrive_expect(full, kStageBytes);
      Bf16* const a_tile = ring.stages + position.stage * kStageElements;
      ptx::copy_box(a_tile, a_map, tile.first_row, first, full);
      for (int block = 0; block < kTileColumns / kBlockColumns; ++block) {
        ptx::copy_box(a_tile + kATile + block * kBBlock, b_map, first,
                      tile.first_column + block * kBlockColumns, full);
      }
    }
  }
}

// The sums of one tile of c, 64 rows of it.
__device__ __forceinline__ void multiply_tile(const Ring& ring, Position& position, int consumer,
                                              int k, float (&sums)[128]) {
  std::uint64_t* previous = nullptr;  // the barrier of the stage that the last wgmma but one reads
  for (int first = 0; first < k; first += kDepth, position.advance()) {
    ptx::mbarrier_wait(&ring.full[position.stage], position.parity);
    const Bf16* const a_tile = ring.stages + position.stage * kStageElements;
    const Bf16* const a_rows = a_tile + consumer * 64 * kDepth;
    const Bf16* const b_tile = a_tile + kATile;
    ptx::wgmma_fence();
    TVLLM_UNROLL
    for (int depth = 0; depth < kDepth; depth += 16) {
      ptx::wgmma_m64n256k16_bf16(
          sums, ptx::wgmma_descriptor_k_major(a_rows + depth),
          ptx::wgmma_descriptor_n_major(b_tile + depth * kBlockColumns, kBBlock * sizeof(Bf16)),
          first + depth > 0);
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (previous != nullptr && lane_idx() == 0) ptx::mbarrier_arrive(previous);
    previous = &ring.empty[position.stage];
  }
  ptx::wgmma_wait<0>();
  if (lane_idx() == 0) ptx::mbarrier_arrive(previous);
}

__device__ __forceinline__ void store_tile(const Matmul<Bf16>& product, const Tile& tile,
                                           int consumer, const float (&sums)[128]) {
  const auto [m, n, k] = product.shape;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int g = lane_idx() / 4;
  const int t = lane_idx() % 4;
  TVLLM_UNROLL
  for (int i = 0; i < 128; i += 2) {  // n is a multiple of 8: pairs are whole
    const int row = tile.first_row + 64 * consumer + 16 * warp + g + 8 * (i / 2 % 2);
    const int column = tile.first_column + 8 * (i / 4) + 2 * t;
    if (row < m && column < n) {
      const unsigned low = from_float<Bf16>(sums[i]).bits;
      const unsigned high = from_float<Bf16>(sums[i + 1]).bits;
      *reinterpret_cast<unsigned*>(product.c + std::size_t(row) * n + column) = low | high << 16;
    }
  }
}

#endif  // TVLLM_HAS_SM90A

__global__ void __launch_bounds__(kThreads, 1)
    matmul_wgmma_bf16_kernel(const __grid_constant__ TensorMap a_map,
                             const __grid_constant__ TensorMap b_map, Matmul<Bf16> product,
                             TileGrid grid) {
#ifdef TVLLM_HAS_SM90A
  Ring ring;
  ring.stages = dynamic_shared<Bf16>();
  ring.full = reinterpret_cast<std::uint64_t*>(ring.stages + kStages * kStageElements);
  ring.empty = ring.full + kStages;
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&a_map);
    ptx::prefetch_tensor_map(&b_map);
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(&ring.full[stage], 1);
      ptx::mbarrier_init(&ring.empty[stage], 8);
    }
    ptx::mbarrier_init_fence();
  }
  __syncthreads();

  // The producer needs next to no registers: 128 * 40 + 256 * 232 are all that there are.
  if (warpgroup == 0) {
    ptx::give_registers<40>();
    if (threadIdx.x == 0) produce(ring, &a_map, &b_map, grid, product.shape.k);
  } else {
    ptx::take_registers<232>();
    Position position;
    for (int idx = static_cast<int>(blockIdx.x); idx < grid.rows * grid.columns;
         idx += static_cast<int>(gridDim.x)) {
      float sums[128];
      multiply_tile(ring, position, warpgroup - 1, product.shape.k, sums);
      store_tile(product, tile_at(grid, idx), warpgroup - 1, sums);
    }
  }
#endif
}

}  // namespace

Status matmul_wgmma_bf16(const Stream& stream, const Matmul<Bf16>& product) {
  const auto [m, n, k] = product.shape;
  const device_api::Properties& device = stream.device().properties();
  if (device.compute_capability != 90) {
    return make_error(ErrorCode::kUnsupported, "matmul_wgmma_bf16: needs a Hopper GPU (sm_90)");
  }
  // TMA wants rows that begin at multiples of 16 bytes, and pairs of sums are stored together.
  const bool has_vectors = has_vector_rows(product.a, k) && has_vector_rows(product.b, n) &&
                           has_vector_rows(product.c, n);
  if (!has_vectors) return matmul_tensor_cores_bf16(stream, product);
  TVLLM_TRY(const TensorMap a_map, make_tensor_map(product.a, m, k, kTileRows, kDepth));
  TVLLM_TRY(const TensorMap b_map, make_tensor_map(product.b, k, n, kDepth, kBlockColumns));
  const TileGrid grid = {ceil_div(m, kTileRows), ceil_div(n, kTileColumns)};
  const int num_tiles = grid.rows * grid.columns;
  const int num_blocks =
      num_tiles < device.num_multiprocessors ? num_tiles : device.num_multiprocessors;
  return launch(stream,
                {.kernel = "matmul_wgmma_bf16",
                 .grid = {unsigned(num_blocks)},
                 .block = {kThreads},
                 .shared_bytes = kSharedBytes},
                matmul_wgmma_bf16_kernel, a_map, b_map, product, grid);
}

}  // namespace tvllm::examples
