// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.cuh"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/runtime/launch.h"
#include "tests/unit/backend_cuda/primitive_kernels.h"

namespace tvllm::cuda::test {
namespace {

__device__ int global_thread_idx() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

// --- indices, shared memory, barriers
// --------------------------------------------------------------

__global__ void write_indices_kernel(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned linear = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[linear] = static_cast<int>(linear);
}

__global__ void scale_kernel(float* x, float factor, int n) {
  const int i = global_thread_idx();
  if (i < n) x[i] *= factor;
}

__global__ void reverse_rows_kernel(int* x) {
  __shared__ SharedArray<int, 256> row;
  const int i = static_cast<int>(threadIdx.x);
  int* const own = x + blockIdx.x * 256;
  row[i] = own[i];
  __syncthreads();
  own[i] = row[255 - i];
}

__global__ void reverse_rows_dynamic_kernel(int* x) {
  int* const row = dynamic_shared<int>();
  const unsigned row_len = blockDim.x;
  int* const own = x + blockIdx.x * row_len;
  row[threadIdx.x] = own[threadIdx.x];
  __syncthreads();
  own[threadIdx.x] = row[row_len - 1 - threadIdx.x];
}

__global__ void sum_rows_kernel(const float* in, float* out, int row_len) {
  __shared__ SharedArray<float, 32> warp_sums;
  const int i = static_cast<int>(threadIdx.x);
  float sum = i < row_len ? in[static_cast<int>(blockIdx.x) * row_len + i] : 0.0f;
  for (int delta = 16; delta > 0; delta /= 2)
    sum += __shfl_down_sync(kFullMask, sum, delta);
  if (i % 32 == 0) warp_sums[i / 32] = sum;
  __syncthreads();
  if (i < 32) {
    sum = i < static_cast<int>(blockDim.x) / 32 ? warp_sums[i] : 0.0f;
    for (int delta = 16; delta > 0; delta /= 2)
      sum += __shfl_down_sync(kFullMask, sum, delta);
    if (i == 0) out[blockIdx.x] = sum;
  }
}

__global__ void sync_after_exit_kernel(int num_alive, int* out) {
  __shared__ SharedArray<int, 1024> values;
  const int i = static_cast<int>(threadIdx.x);
  if (i >= num_alive) return;
  values[i] = i;
  __syncthreads();
  out[i] = values[num_alive - 1 - i];
}

// --- warps
// -----------------------------------------------------------------------------------------

template <typename T>
__device__ T shuffled(Shuffle kind, T value, int argument, int width) {
  switch (kind) {
    case Shuffle::kIdx:
      return __shfl_sync(kFullMask, value, argument, width);
    case Shuffle::kUp:
      return __shfl_up_sync(kFullMask, value, argument, width);
    case Shuffle::kDown:
      return __shfl_down_sync(kFullMask, value, argument, width);
    case Shuffle::kXor:
      return __shfl_xor_sync(kFullMask, value, argument, width);
  }
  return value;
}

__global__ void shuffle_kernel(Shuffle kind, int argument, int width, int* out, double* out_wide) {
  const int lane = lane_idx();
  out[lane] = shuffled(kind, 100 + lane, argument, width);
  out_wide[lane] = shuffled(kind, 100.5 + lane, argument, width);
}

__global__ void vote_kernel(const int* in, unsigned* out) {
  const int i = static_cast<int>(threadIdx.x);
  const int predicate = in[i];
  const unsigned results[] = {__ballot_sync(kFullMask, predicate),
                              static_cast<unsigned>(__any_sync(kFullMask, predicate)),
                              static_cast<unsigned>(__all_sync(kFullMask, predicate)),
                              static_cast<unsigned>(__syncthreads_count(predicate)),
                              static_cast<unsigned>(__syncthreads_and(predicate) != 0),
                              static_cast<unsigned>(__syncthreads_or(predicate) != 0),
                              __reduce_add_sync(kFullMask, static_cast<unsigned>(predicate)),
                              __reduce_min_sync(kFullMask, static_cast<unsigned>(predicate)),
                              __reduce_max_sync(kFullMask, static_cast<unsigned>(predicate))};
  for (int k = 0; k < 9; ++k)
    out[9 * i + k] = results[k];
}

// --- atomics
// ---------------------------------------------------------------------------------------

__global__ void histogram_kernel(const int* in, int n, unsigned* counts) {
  __shared__ SharedArray<unsigned, 8> own;
  if (threadIdx.x < 8) own[static_cast<int>(threadIdx.x)] = 0;
  __syncthreads();
  const int i = global_thread_idx();
  if (i < n) atomicAdd(&own[in[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&counts[threadIdx.x], own[static_cast<int>(threadIdx.x)]);
}

__global__ void atomics_kernel(int n, int* out, float* sum, double* wide_sum) {
  const int i = global_thread_idx();
  if (i >= n) return;
  atomicAdd(&out[0], i);
  atomicMin(&out[1], i);
  atomicMax(&out[2], i);
  atomicOr(&out[3], 1 << i % 31);
  atomicAnd(&out[4], ~(1 << i % 31));
  atomicXor(&out[5], 1 << i % 31);
  atomicExch(&out[6], 7);
  atomicCAS(&out[7], 0, 9);
  atomicAdd(sum, static_cast<float>(i));
  atomicAdd(wide_sum, static_cast<double>(i));
}

__global__ void count_under_lock_kernel(int* out) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&out[0], 0, 1) == 0) {
      __threadfence();
      const int count = atomicAdd(&out[1], 0);
      atomicExch(&out[1], count + 1);
      __threadfence();
      atomicExch(&out[0], 0);
      done = true;
    }
  }
}

// --- PTX
// -------------------------------------------------------------------------------------------

__global__ void copy_async_kernel(const float* in, int n, float* out) {
  __shared__ SharedArray<float, 128> tile;
  const int first = 4 * static_cast<int>(threadIdx.x);
  const int num_there = n - first < 0 ? 0 : (n - first < 4 ? n - first : 4);
  ptx::cp_async<16>(&tile[first], num_there > 0 ? in + first : in, 4 * num_there);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    out[32 * i + static_cast<int>(threadIdx.x)] = tile[32 * i + static_cast<int>(threadIdx.x)];
}

__global__ void ldmatrix_kernel(bool transposed, const std::uint16_t* tile,
                                std::uint32_t* registers) {
  __shared__ SharedArray<std::uint16_t, 32 * 8> shared;
  const int lane = lane_idx();
  for (int i = lane; i < 256; i += 32)
    shared[i] = tile[i];
  __syncthreads();
  std::uint32_t got[4];
  if (transposed) {
    ptx::ldmatrix_x4_trans(got, &shared[8 * lane]);
  } else {
    ptx::ldmatrix_x4(got, &shared[8 * lane]);
  }
  for (int m = 0; m < 4; ++m)
    registers[4 * lane + m] = got[m];
  std::uint32_t pair[2];  // the first two matrices once more
  if (transposed) {
    ptx::ldmatrix_x2_trans(pair, &shared[8 * (lane % 16)]);
  } else {
    ptx::ldmatrix_x2(pair, &shared[8 * (lane % 16)]);
  }
  for (int m = 0; m < 2; ++m)
    registers[128 + 2 * lane + m] = pair[m];
}

__device__ std::uint32_t bits_of(Bf16 value) {
  return value.bits;
}
__device__ std::uint32_t bits_of(F16 value) {
  return value.bits;
}
__device__ std::uint32_t bits_of(float value) {
  return __float_as_uint(value);
}
__device__ std::uint32_t bits_of(std::int8_t value) {
  return static_cast<std::uint8_t>(value);
}

// The fragments as the PTX manual draws them, element by element.
template <typename T, typename Acc, typename Mma>
__device__ void mma_of(const T* a, const T* b, const Acc* c, Acc* d, Mma multiply) {
  constexpr int kPer = 4 / static_cast<int>(sizeof(T));  // numbers a register
  constexpr int kDepth = 8 * kPer;
  const int g = lane_idx() / 4;
  const int t = lane_idx() % 4;
  std::uint32_t a_regs[4] = {};
  std::uint32_t b_regs[2] = {};
  for (int i = 0; i < 4 * kPer; ++i) {  // a0, a1, ... of the manual
    const int row = i / kPer % 2 == 0 ? g : g + 8;
    const int column = t * kPer + i % kPer + (i < 2 * kPer ? 0 : kDepth / 2);
    a_regs[i / kPer] |= bits_of(a[row * kDepth + column]) << (i % kPer * 8 * sizeof(T)) % 32;
  }
  for (int i = 0; i < 2 * kPer; ++i) {
    const int row = t * kPer + i % kPer + (i < kPer ? 0 : kDepth / 2);
    b_regs[i / kPer] |= bits_of(b[row * 8 + g]) << (i % kPer * 8 * sizeof(T)) % 32;
  }
  Acc acc[4];
  for (int i = 0; i < 4; ++i)
    acc[i] = c[(g + (i < 2 ? 0 : 8)) * 8 + 2 * t + i % 2];
  multiply(acc, a_regs, b_regs);
  for (int i = 0; i < 4; ++i)
    d[(g + (i < 2 ? 0 : 8)) * 8 + 2 * t + i % 2] = acc[i];
}

__global__ void mma_kernel(const Bf16* a, const Bf16* b, const float* c, float* d) {
  mma_of(a, b, c, d,
         [](auto& acc, const auto& x, const auto& y) { ptx::mma_m16n8k16_bf16(acc, x, y, acc); });
}
__global__ void mma_kernel(const F16* a, const F16* b, const float* c, float* d) {
  mma_of(a, b, c, d,
         [](auto& acc, const auto& x, const auto& y) { ptx::mma_m16n8k16_f16(acc, x, y, acc); });
}
__global__ void mma_kernel(const float* a, const float* b, const float* c, float* d) {
  mma_of(a, b, c, d,
         [](auto& acc, const auto& x, const auto& y) { ptx::mma_m16n8k8_tf32(acc, x, y, acc); });
}
__global__ void mma_kernel(const std::int8_t* a, const std::int8_t* b, const std::int32_t* c,
                           std::int32_t* d) {
  mma_of(a, b, c, d,
         [](auto& acc, const auto& x, const auto& y) { ptx::mma_m16n8k32_s8(acc, x, y, acc); });
}

__global__ void mma_by_ldmatrix_kernel(const Bf16* a, const Bf16* b, float* d) {
  __shared__ SharedArray<Bf16, 16 * 16> a_tile;  // [row, k]
  __shared__ SharedArray<Bf16, 16 * 8> b_tile;   // [k, column]
  const int lane = lane_idx();
  for (int i = lane; i < 256; i += 32)
    a_tile[i] = a[i];
  for (int i = lane; i < 128; i += 32)
    b_tile[i] = b[i];
  __syncwarp();
  std::uint32_t a_regs[4];
  std::uint32_t b_regs[2];
  // Matrices of A in the order of its registers: upper left, lower left, upper right, lower right.
  ptx::ldmatrix_x4(a_regs, &a_tile[16 * (lane % 16) + 8 * (lane / 16)]);
  ptx::ldmatrix_x2_trans(b_regs, &b_tile[8 * (lane % 16)]);
  float acc[4] = {};
  ptx::mma_m16n8k16_bf16(acc, a_regs, b_regs, acc);
  const int g = lane / 4;
  const int t = lane % 4;
  for (int i = 0; i < 4; ++i)
    d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = acc[i];
}

template <typename T>
__global__ void round_kernel(const float* in, float* out, int n) {
  const int i = global_thread_idx();
  if (i < n) out[i] = to_float(from_float<T>(in[i]));
}

__global__ void round_to_tf32_kernel(const float* in, float* out, int n) {
  const int i = global_thread_idx();
  if (i < n) out[i] = __uint_as_float(ptx::round_to_tf32(in[i]));
}

unsigned blocks_for(int n) {
  return static_cast<unsigned>(ceil_div(n, 256));
}

}  // namespace

Status write_indices(const Stream& stream, Dim3 grid, Dim3 block, int* out) {
  return launch(stream, {.kernel = "write_indices", .grid = grid, .block = block},
                write_indices_kernel, out);
}

Status scale(const Stream& stream, float* x, float factor, int n) {
  return launch(stream, {.kernel = "scale", .grid = {blocks_for(n)}, .block = {256}}, scale_kernel,
                x, factor, n);
}

Status reverse_rows(const Stream& stream, int* x, int num_blocks) {
  return launch(
      stream,
      {.kernel = "reverse_rows", .grid = {static_cast<unsigned>(num_blocks)}, .block = {256}},
      reverse_rows_kernel, x);
}

Status reverse_rows_dynamic(const Stream& stream, int* x, int num_blocks, int row_len) {
  return launch(stream,
                {.kernel = "reverse_rows_dynamic",
                 .grid = {static_cast<unsigned>(num_blocks)},
                 .block = {static_cast<unsigned>(row_len)},
                 .shared_bytes = sizeof(int) * static_cast<std::size_t>(row_len)},
                reverse_rows_dynamic_kernel, x);
}

Status sum_rows(const Stream& stream, const float* in, float* out, int num_blocks, int row_len) {
  return launch(stream,
                {.kernel = "sum_rows",
                 .grid = {static_cast<unsigned>(num_blocks)},
                 .block = {static_cast<unsigned>(ceil_div(row_len, 32) * 32)}},
                sum_rows_kernel, in, out, row_len);
}

Status shuffle(const Stream& stream, Shuffle kind, int argument, int width, int* out,
               double* out_wide) {
  return launch(stream, {.kernel = "shuffle", .block = {32}}, shuffle_kernel, kind, argument, width,
                out, out_wide);
}

Status vote(const Stream& stream, const int* in, unsigned* out) {
  return launch(stream, {.kernel = "vote", .block = {64}}, vote_kernel, in, out);
}

Status sync_after_exit(const Stream& stream, int num_threads, int num_alive, int* out) {
  return launch(stream,
                {.kernel = "sync_after_exit", .block = {static_cast<unsigned>(num_threads)}},
                sync_after_exit_kernel, num_alive, out);
}

Status histogram(const Stream& stream, const int* in, int n, unsigned* counts) {
  return launch(stream, {.kernel = "histogram", .grid = {blocks_for(n)}, .block = {256}},
                histogram_kernel, in, n, counts);
}

Status atomics(const Stream& stream, int n, int* out, float* sum, double* wide_sum) {
  return launch(stream, {.kernel = "atomics", .grid = {blocks_for(n)}, .block = {256}},
                atomics_kernel, n, out, sum, wide_sum);
}

Status count_under_lock(const Stream& stream, int num_blocks, int* out) {
  return launch(
      stream,
      {.kernel = "count_under_lock", .grid = {static_cast<unsigned>(num_blocks)}, .block = {64}},
      count_under_lock_kernel, out);
}

Status copy_async(const Stream& stream, const float* in, int n, float* out) {
  return launch(stream, {.kernel = "copy_async", .block = {32}}, copy_async_kernel, in, n, out);
}

Status ldmatrix(const Stream& stream, bool transposed, const std::uint16_t* tile,
                std::uint32_t* registers) {
  return launch(stream, {.kernel = "ldmatrix", .block = {32}}, ldmatrix_kernel, transposed, tile,
                registers);
}

Status mma(const Stream& stream, const Bf16* a, const Bf16* b, const float* c, float* d) {
  void (*kernel)(const Bf16*, const Bf16*, const float*, float*) = mma_kernel;
  return launch(stream, {.kernel = "mma_bf16", .block = {32}}, kernel, a, b, c, d);
}
Status mma(const Stream& stream, const F16* a, const F16* b, const float* c, float* d) {
  void (*kernel)(const F16*, const F16*, const float*, float*) = mma_kernel;
  return launch(stream, {.kernel = "mma_f16", .block = {32}}, kernel, a, b, c, d);
}
Status mma(const Stream& stream, const float* a, const float* b, const float* c, float* d) {
  void (*kernel)(const float*, const float*, const float*, float*) = mma_kernel;
  return launch(stream, {.kernel = "mma_tf32", .block = {32}}, kernel, a, b, c, d);
}
Status mma(const Stream& stream, const std::int8_t* a, const std::int8_t* b, const std::int32_t* c,
           std::int32_t* d) {
  void (*kernel)(const std::int8_t*, const std::int8_t*, const std::int32_t*, std::int32_t*) =
      mma_kernel;
  return launch(stream, {.kernel = "mma_s8", .block = {32}}, kernel, a, b, c, d);
}

Status mma_by_ldmatrix(const Stream& stream, const Bf16* a, const Bf16* b, float* d) {
  return launch(stream, {.kernel = "mma_by_ldmatrix", .block = {32}}, mma_by_ldmatrix_kernel, a, b,
                d);
}

Status round_to_bf16(const Stream& stream, const float* in, float* out, int n) {
  return launch(stream, {.kernel = "round_to_bf16", .grid = {blocks_for(n)}, .block = {256}},
                round_kernel<Bf16>, in, out, n);
}
Status round_to_f16(const Stream& stream, const float* in, float* out, int n) {
  return launch(stream, {.kernel = "round_to_f16", .grid = {blocks_for(n)}, .block = {256}},
                round_kernel<F16>, in, out, n);
}
Status round_to_tf32(const Stream& stream, const float* in, float* out, int n) {
  return launch(stream, {.kernel = "round_to_tf32", .grid = {blocks_for(n)}, .block = {256}},
                round_to_tf32_kernel, in, out, n);
}

}  // namespace tvllm::cuda::test
