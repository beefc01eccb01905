// SPDX-License-Identifier: Apache-2.0
// Kernels that do one thing each, for the tests of device and emulation. Pointers are device
// pointers.
#pragma once

#include <cstdint>

#include "backend/cuda/numbers.h"
#include "backend/cuda/runtime/launch_config.h"
#include "backend/cuda/runtime/stream.h"

namespace tvllm::cuda::test {

// out[i] = the linear index that thread i computes of grid and block, both of three dimensions.
Status write_indices(const Stream& stream, Dim3 grid, Dim3 block, int* out);
// x: [n]
Status scale(const Stream& stream, float* x, float factor, int n);
// x: [num_blocks, 256], each row reversed through shared memory.
Status reverse_rows(const Stream& stream, int* x, int num_blocks);
// The same with rows of any length up to 1024.
Status reverse_rows_dynamic(const Stream& stream, int* x, int num_blocks, int row_len);
// out[block] = sum of the block's row. in: [num_blocks, row_len], row_len <= 1024
Status sum_rows(const Stream& stream, const float* in, float* out, int num_blocks, int row_len);

enum class Shuffle { kIdx, kUp, kDown, kXor };
// out[lane] = what lane gets of values 100 + lane; also as 8 bytes.
Status shuffle(const Stream& stream, Shuffle kind, int argument, int width, int* out,
               double* out_wide);
// out: 0 ballot, 1 any, 2 all, 3 count of the block, 4 and, 5 or, 6 sum, 7 min, 8 max; predicate =
// in[thread], two warps.
Status vote(const Stream& stream, const int* in, unsigned* out);
// Threads from `num_alive` on leave before the barrier.
Status sync_after_exit(const Stream& stream, int num_threads, int num_alive, int* out);
// counts[8]: how often each of values 0 .. 7 occurs in in[n].
Status histogram(const Stream& stream, const int* in, int n, unsigned* counts);
// out: sums and extremes of 0 .. n-1 by atomics; see the test.
Status atomics(const Stream& stream, int n, int* out, float* sum, double* wide_sum);
// Every thread adds one to out[1] while it holds the lock out[0].
Status count_under_lock(const Stream& stream, int num_blocks, int* out);

// out[128] = in[0 .. n) by cp.async, zeros behind.
Status copy_async(const Stream& stream, const float* in, int n, float* out);
// tile: [32, 8] of 16 bits, four matrices. registers: [32, 4]
Status ldmatrix(const Stream& stream, bool transposed, const std::uint16_t* tile,
                std::uint32_t* registers);
// a: [16, k], b: [k, 8], c and d: [16, 8], row-major; k = 16.
Status mma(const Stream& stream, const Bf16* a, const Bf16* b, const float* c, float* d);
Status mma(const Stream& stream, const F16* a, const F16* b, const float* c, float* d);
// k = 8
Status mma(const Stream& stream, const float* a, const float* b, const float* c, float* d);
// k = 32
Status mma(const Stream& stream, const std::int8_t* a, const std::int8_t* b, const std::int32_t* c,
           std::int32_t* d);
// The bf16 one with operands by way of shared memory and ldmatrix.
Status mma_by_ldmatrix(const Stream& stream, const Bf16* a, const Bf16* b, float* d);

// out[i] = in[i] rounded to the type and back.
Status round_to_bf16(const Stream& stream, const float* in, float* out, int n);
Status round_to_f16(const Stream& stream, const float* in, float* out, int n);
Status round_to_tf32(const Stream& stream, const float* in, float* out, int n);

}  // namespace tvllm::cuda::test
