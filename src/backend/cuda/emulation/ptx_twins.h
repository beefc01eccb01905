// SPDX-License-Identifier: Apache-2.0
// What the instructions in backend/cuda/ptx.cuh do, in plain C++: by the fragment layouts and the
// memory model of the PTX manual, not by what some chip happens to do.
#pragma once

#include <cstdint>

#include "backend/cuda/emulation/intrinsics.h"

namespace tvllm::cuda::emulation {

// --- cp.async: copies that happen by themselves
// ----------------------------------------------------
//
// The bytes arrive when the thread waits for their group, at the latest possible time, and may not
// be read before. For the race log the destination is written when the copy begins and when it
// ends.
void cp_async(void* to_shared, const void* from_global, int num_bytes, int num_from_bytes);
void cp_async_commit();
// Waits until at most `num_groups` of the newest groups are in flight.
void cp_async_wait(int num_groups);

// --- tensor core operations
// ------------------------------------------------------------------------

// `matrices` 8 x 8 matrices of 16-bit elements, one (transposed if asked) in each of the registers.
void ldmatrix(std::uint32_t* registers, const void* row_address, int num_matrices, bool transposed,
              Place place);

enum class MmaType : std::uint8_t { kBf16, kF16, kTf32, kS8 };

// d = a * b + c. Bf16 and f16: m16n8k16, 4 and 2 registers of two numbers. Tf32: m16n8k8, 4 and 2
// registers of one. Accumulators of all three are f32.
void mma_f32(MmaType type, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
             const float (&c)[4], Place place);
// m16n8k32 of signed bytes, four in a register; wraps.
void mma_s32(std::int32_t (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
             const std::int32_t (&c)[4], Place place);

}  // namespace tvllm::cuda::emulation
