// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/runtime/tensor_map.h"

#include <cstring>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "base/strings.h"

namespace tvllm::cuda {
namespace {

// The driver's function, looked up so that nothing links the driver. Null: it has none.
PFN_cuTensorMapEncodeTiled_v12000 find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = {};
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

}  // namespace

Result<TensorMap> make_tensor_map(const Bf16* data, int rows, int columns, int box_rows,
                                  int box_columns) {
  static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));
  const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
  if (encode == nullptr) {
    return make_error(ErrorCode::kUnsupported,
                      "cuTensorMapEncodeTiled: the driver does not have it");
  }
  CUtensorMap map;
  // Innermost first. The stride of the innermost is one element and not given.
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t stride_bytes[] = {static_cast<cuuint64_t>(columns) * sizeof(Bf16)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_columns),
                            static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t element_strides[] = {1, 1};
  const CUresult result = encode(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<Bf16*>(data), sizes, stride_bytes, box,
      element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    return make_error(ErrorCode::kInternal, str_cat("cuTensorMapEncodeTiled of ", rows, " x ",
                                                    columns, ": error ", static_cast<int>(result)));
  }
  TensorMap tensor_map;
  std::memcpy(tensor_map.bytes, &map, sizeof(map));
  return tensor_map;
}

}  // namespace tvllm::cuda
