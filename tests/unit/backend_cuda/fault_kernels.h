// SPDX-License-Identifier: Apache-2.0
// Kernels with one fault each. On a GPU some would go unnoticed, some would end the process; the
// emulation must name every one.
#pragma once

#include "backend/cuda/runtime/stream.h"

namespace tvllm::cuda::test {

enum class Fault {
  kDivergentBarrier,
  kBarrierInHalfTheWarp,  // the other half waits for the whole warp
  kLockNeverFreed,
  kSharedIndexPastEnd,
  kSharedIndexNegative,
  kSharedPointerPastEnd,
  kDynamicSharedPastEnd,
  kNoDynamicShared,
  kTooMuchShared,
  kSharedUninitialized,
  kSharedUninitializedPart,
  kMissingBarrier,
  kMissingBarrierBeforeRefill,
  kMissingSyncWarp,
  kDeviceReadPastEnd,
  kDeviceWritePastEnd,
  kDeviceWriteBeforeBegin,
  kDeviceUninitialized,
  kNullPointer,
  kWriteToConstant,
  kLocalOfOtherThread,
  kVectorMisaligned,
  kVectorMisalignedPlain,
  kLoopWithoutEnd,
  kAtomicMisaligned,
  kAtomicPastEnd,
  kCopyAsyncMisaligned,
  kCopyAsyncNotWaitedFor,
  kCopyAsyncRefillWithoutBarrier,
  kCopyAsyncToDevice,
  kShuffleFromExitedLane,
  kShuffleOutsideOwnMask,
  kShuffleOtherMask,
  kShuffleWidth,
  kMmaInPartOfAWarp,
  kLdmatrixOfDeviceMemory,
};

// `x` has 64 elements, all but the last initialized. Run by block (1,0,0) of two, 64 threads each.
Status commit_fault(const Stream& stream, Fault fault, float* x);
// A thread waits in a loop for what a later one writes: no fault.
Status wait_for_later_thread(const Stream& stream, float* x);
// Reads x[0] and writes y[0].
Status read_and_write(const Stream& stream, const float* x, float* y);

}  // namespace tvllm::cuda::test
