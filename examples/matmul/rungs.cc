// SPDX-License-Identifier: Apache-2.0
#include "examples/matmul/matmul.h"

namespace tvllm::examples {
namespace {

constexpr Rung kRungs[] = {
    {.name = "naive", .f32 = &matmul_naive<float>, .bf16 = &matmul_naive<Bf16>},
    {.name = "coalesced", .f32 = &matmul_coalesced<float>, .bf16 = &matmul_coalesced<Bf16>},
    {.name = "shared-tiles",
     .f32 = &matmul_shared_tiles<float>,
     .bf16 = &matmul_shared_tiles<Bf16>},
    {.name = "register-tiles",
     .f32 = &matmul_register_tiles<float>,
     .bf16 = &matmul_register_tiles<Bf16>},
    {.name = "double-buffered",
     .f32 = &matmul_double_buffered<float>,
     .bf16 = &matmul_double_buffered<Bf16>},
    {.name = "tensor-cores",
     .f32 = &matmul_tensor_cores_f32,
     .bf16 = &matmul_tensor_cores_bf16,
     .rounds_to_tf32 = true},
#ifdef TVLLM_MATMUL_HAS_DEVICE_ONLY
    {.name = "wgmma", .bf16 = &matmul_wgmma_bf16, .is_device_only = true},
#endif
};

}  // namespace

std::span<const Rung> matmul_rungs() {
  return kRungs;
}

}  // namespace tvllm::examples
