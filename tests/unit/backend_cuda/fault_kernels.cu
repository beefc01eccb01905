// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device.cuh"
#include "backend/cuda/ptx.cuh"
#include "backend/cuda/runtime/launch.h"
#include "tests/unit/backend_cuda/fault_kernels.h"

namespace tvllm::cuda::test {
namespace {

constexpr int kSize = 64;
constexpr float kTable[] = {1.0f, 2.0f, 3.0f, 4.0f};

// The compiler does not see through it.
template <typename T>
__device__ T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// --- barriers
// --------------------------------------------------------------------------------------

__device__ void barrier_fault(Fault fault, int i, float* x) {
  if (fault == Fault::kDivergentBarrier) {
    if (i < 40) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  } else if (fault == Fault::kBarrierInHalfTheWarp) {
    if (i % 32 < 16) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  } else {
    __shared__ SharedArray<int, 1> lock;
    if (i == 0) lock[0] = 1;
    __syncthreads();
    while (i == 5 && atomicCAS(&lock[0], 0, 1) != 0) {
    }
    x[0] = 0.0f;
  }
}

// --- shared memory
// ---------------------------------------------------------------------------------

__device__ void too_much_shared(int i) {
  __shared__ SharedArray<float, 40000> first;
  __shared__ SharedArray<float, 40000> second;
  first[i] = 0.0f;
  second[i] = 0.0f;
}

__device__ void shared_fault(Fault fault, int i, float* x) {
  __shared__ SharedArray<float, kSize> tile;
  __shared__ SharedArray<float*, 1> pointer;
  switch (fault) {
    case Fault::kSharedIndexPastEnd:
      tile[opaque(i) + 1] = 0.0f;
      break;
    case Fault::kSharedIndexNegative:
      tile[opaque(i) - 1] = 0.0f;
      break;
    case Fault::kSharedPointerPastEnd:
      tile.data()[opaque(i) + 1] = 0.0f;
      break;
    case Fault::kDynamicSharedPastEnd:
      dynamic_shared<float>()[i + (i == 63 ? 1 : 0)] = 0.0f;
      break;
    case Fault::kNoDynamicShared:
      dynamic_shared<float>()[i] = 0.0f;
      break;
    case Fault::kTooMuchShared:
      too_much_shared(i);
      break;
    case Fault::kSharedUninitialized:
      if (i != 7) tile[i] = 1.0f;
      __syncthreads();
      x[i] = tile[i];
      break;
    case Fault::kSharedUninitializedPart:
      reinterpret_cast<std::uint16_t*>(tile.data())[i] = 1;  // half of the array
      __syncthreads();
      x[i] = tile[i];
      break;
    case Fault::kMissingBarrier:
      tile[i] = 1.0f;
      x[i] = i == 0 ? 0.0f : tile[i - 1];  // runs "well" where threads run in order
      break;
    case Fault::kMissingBarrierBeforeRefill:
      tile[i] = 1.0f;
      __syncthreads();
      x[i] = tile[63 - i];
      tile[i] = 2.0f;
      break;
    case Fault::kMissingSyncWarp:
      tile[i] = 1.0f;
      if (i % 32 != 0) x[i] = tile[i - 1];
      break;
    case Fault::kLocalOfOtherThread: {
      float local = static_cast<float>(i);
      if (i == 0) pointer[0] = &local;
      __syncthreads();
      x[i] = *pointer[0];
      __syncthreads();
      break;
    }
    default:
      break;
  }
}

// --- device memory
// ---------------------------------------------------------------------------------

__device__ void device_fault(Fault fault, int i, float* x) {
  switch (fault) {
    case Fault::kDeviceReadPastEnd:
      x[0] = x[i == 9 ? 64 : 1];
      break;
    case Fault::kDeviceWritePastEnd:
      x[i == 9 ? 66 : i] = 0.0f;
      break;
    case Fault::kDeviceWriteBeforeBegin:
      x[i == 9 ? -1 : i] = 0.0f;
      break;
    case Fault::kDeviceUninitialized:
      x[0] = x[i];
      break;
    case Fault::kNullPointer:
      *opaque(static_cast<float*>(nullptr)) = 1.0f;
      break;
    case Fault::kWriteToConstant:
      const_cast<float*>(kTable)[opaque(i % 4)] = 1.0f;
      break;
    case Fault::kVectorMisaligned:
      x[i] = load_vector<float4>(x + 1).x;
      break;
    case Fault::kVectorMisalignedPlain: {
      auto* const vectors = reinterpret_cast<float4*>(x + 1);
      vectors[1] = vectors[opaque(0)];
      break;
    }
    case Fault::kLoopWithoutEnd:
      while (i == 9 && *static_cast<volatile float*>(x) != 5.0f) {
      }
      break;
    case Fault::kAtomicMisaligned:
      atomicAdd(reinterpret_cast<int*>(reinterpret_cast<char*>(x) + 2), 1);
      break;
    case Fault::kAtomicPastEnd:
      atomicAdd(x + 64 * (i == 9 ? 1 : 0), 1.0f);
      break;
    default:
      break;
  }
}

// --- cp.async
// --------------------------------------------------------------------------------------

__device__ void copy_fault(Fault fault, int i, float* x) {
  __shared__ SharedArray<float, 4 * kSize> tile;
  switch (fault) {
    case Fault::kCopyAsyncMisaligned:
      ptx::cp_async<16>(&tile[4 * i], x + 1);
      break;
    case Fault::kCopyAsyncNotWaitedFor:
      ptx::cp_async<4>(&tile[i], x);
      ptx::cp_async_commit();
      ptx::cp_async_wait<1>();
      __syncthreads();
      x[i] = tile[i];
      break;
    case Fault::kCopyAsyncRefillWithoutBarrier:
      ptx::cp_async<4>(&tile[i], x);
      ptx::cp_async_commit();
      ptx::cp_async_wait<0>();
      __syncthreads();
      if (i != 63) x[i] = tile[i + 1];
      ptx::cp_async<4>(&tile[i], x);
      break;
    case Fault::kCopyAsyncToDevice:
      ptx::cp_async<4>(x, x);
      break;
    default:
      break;
  }
}

// --- warps
// -----------------------------------------------------------------------------------------

__device__ void warp_fault(Fault fault, int i, float* x) {
  const int lane = i % 32;
  float value = 1.0f;
  switch (fault) {
    case Fault::kShuffleFromExitedLane:
      if (lane == 31) return;
      value = __shfl_down_sync(kFullMask, value, 1);
      break;
    case Fault::kShuffleOutsideOwnMask:
      value = __shfl_sync(0xffffu, value, 0);
      break;
    case Fault::kShuffleOtherMask:
      value = lane < 16 ? __shfl_sync(0x1ffffu, value, 0) : __shfl_sync(kFullMask, value, 0);
      break;
    case Fault::kShuffleWidth:
      value = __shfl_sync(kFullMask, value, 0, 12);
      break;
    case Fault::kMmaInPartOfAWarp: {
      if (lane >= 30) return;
      float acc[4] = {};
      const std::uint32_t a[4] = {};
      const std::uint32_t b[2] = {};
      ptx::mma_m16n8k16_bf16(acc, a, b, acc);
      value = acc[0];
      break;
    }
    case Fault::kLdmatrixOfDeviceMemory: {
      std::uint32_t registers[4];
      ptx::ldmatrix_x4(registers, x);
      value = static_cast<float>(registers[0]);
      break;
    }
    default:
      break;
  }
  x[i] = value;
}

__global__ void fault_kernel(Fault fault, float* x) {
  if (blockIdx.x != 1) return;
  const int i = static_cast<int>(threadIdx.x);
  if (fault <= Fault::kLockNeverFreed) {
    barrier_fault(fault, i, x);
  } else if (fault <= Fault::kMissingSyncWarp || fault == Fault::kLocalOfOtherThread) {
    shared_fault(fault, i, x);
  } else if (fault <= Fault::kAtomicPastEnd) {
    device_fault(fault, i, x);
  } else if (fault <= Fault::kCopyAsyncToDevice) {
    copy_fault(fault, i, x);
  } else {
    warp_fault(fault, i, x);
  }
}

__global__ void wait_for_later_thread_kernel(float* x) {
  volatile float* const flag = x;
  if (threadIdx.x == 0) {
    while (*flag != 5.0f) {
    }
    x[1] = 7.0f;
  }
  if (threadIdx.x == 40) *flag = 5.0f;
}

__global__ void read_and_write_kernel(const float* x, float* y) {
  y[0] = x[0];
}

}  // namespace

Status commit_fault(const Stream& stream, Fault fault, float* x) {
  const bool has_shared = fault == Fault::kDynamicSharedPastEnd;
  return launch(stream,
                {.kernel = "faulty",
                 .grid = {2},
                 .block = {kSize},
                 .shared_bytes = has_shared ? kSize * sizeof(float) : 0},
                fault_kernel, fault, x);
}

Status wait_for_later_thread(const Stream& stream, float* x) {
  return launch(stream, {.kernel = "wait_for_later_thread", .block = {64}},
                wait_for_later_thread_kernel, x);
}

Status read_and_write(const Stream& stream, const float* x, float* y) {
  return launch(stream, {.kernel = "read_and_write"}, read_and_write_kernel, x, y);
}

}  // namespace tvllm::cuda::test
