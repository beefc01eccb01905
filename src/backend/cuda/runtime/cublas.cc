// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/runtime/cublas.h"

#include <string_view>
#include <utility>

#include <cublasLt.h>

#include "base/strings.h"

namespace tvllm::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what NVIDIA advises for Hopper

Status check(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return make_error(ErrorCode::kInternal, str_cat(call, ": ", cublasLtGetStatusString(status)));
}

// Descriptions that are destroyed at the end of a call.
template <typename Handle, cublasStatus_t (*kDestroy)(Handle)>
struct Description {
  Handle handle = nullptr;
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() {
    if (handle != nullptr) kDestroy(handle);
  }
};
using Operation = Description<cublasLtMatmulDesc_t, &cublasLtMatmulDescDestroy>;
using Layout = Description<cublasLtMatrixLayout_t, &cublasLtMatrixLayoutDestroy>;
using Preference = Description<cublasLtMatmulPreference_t, &cublasLtMatmulPreferenceDestroy>;

Status create_layout(Layout& layout, cudaDataType_t type, int rows, int columns) {
  TVLLM_RETURN_IF_ERROR(
      check(cublasLtMatrixLayoutCreate(&layout.handle, type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), columns),
            "cublasLtMatrixLayoutCreate"));
  const cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
  return check(cublasLtMatrixLayoutSetAttribute(layout.handle, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                                sizeof(order)),
               "cublasLtMatrixLayoutSetAttribute");
}

}  // namespace

struct Cublas::State {
  cublasLtHandle_t handle = nullptr;
  DeviceBuffer<std::byte> workspace;

  ~State() {
    if (handle != nullptr) cublasLtDestroy(handle);
  }

  Status matmul(const Stream& stream, const void* a, const void* b, void* c, int m, int n, int k,
                cudaDataType_t type, cublasComputeType_t compute) {
    Operation operation;
    Layout a_layout, b_layout, c_layout;
    Preference preference;
    TVLLM_RETURN_IF_ERROR(check(cublasLtMatmulDescCreate(&operation.handle, compute, CUDA_R_32F),
                                "cublasLtMatmulDescCreate"));
    TVLLM_RETURN_IF_ERROR(create_layout(a_layout, type, m, k));
    TVLLM_RETURN_IF_ERROR(create_layout(b_layout, type, k, n));
    TVLLM_RETURN_IF_ERROR(create_layout(c_layout, type, m, n));
    TVLLM_RETURN_IF_ERROR(check(cublasLtMatmulPreferenceCreate(&preference.handle),
                                "cublasLtMatmulPreferenceCreate"));
    const std::size_t workspace_bytes = workspace.bytes();
    TVLLM_RETURN_IF_ERROR(check(cublasLtMatmulPreferenceSetAttribute(
                                    preference.handle, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &workspace_bytes, sizeof(workspace_bytes)),
                                "cublasLtMatmulPreferenceSetAttribute"));
    cublasLtMatmulHeuristicResult_t choice = {};
    int num_choices = 0;
    TVLLM_RETURN_IF_ERROR(
        check(cublasLtMatmulAlgoGetHeuristic(handle, operation.handle, a_layout.handle,
                                             b_layout.handle, c_layout.handle, c_layout.handle,
                                             preference.handle, 1, &choice, &num_choices),
              "cublasLtMatmulAlgoGetHeuristic"));
    if (num_choices == 0) {
      return make_error(ErrorCode::kUnsupported,
                        str_cat("cublasLt: no kernel for ", m, " x ", n, " x ", k));
    }
    const float alpha = 1.0f;
    const float beta = 0.0f;
    return check(cublasLtMatmul(handle, operation.handle, &alpha, a, a_layout.handle, b,
                                b_layout.handle, &beta, c, c_layout.handle, c, c_layout.handle,
                                &choice.algo, workspace.data(), workspace_bytes,
                                static_cast<cudaStream_t>(stream.handle().value)),
                 "cublasLtMatmul");
  }
};

Cublas::Cublas(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cublas::Cublas(Cublas&&) noexcept = default;
Cublas& Cublas::operator=(Cublas&&) noexcept = default;
Cublas::~Cublas() = default;

Result<Cublas> Cublas::create(Device& device) {
  auto state = std::make_unique<State>();
  TVLLM_RETURN_IF_ERROR(check(cublasLtCreate(&state->handle), "cublasLtCreate"));
  TVLLM_TRY(state->workspace, DeviceBuffer<std::byte>::allocate(device, kWorkspaceBytes));
  return Cublas(std::move(state));
}

Status Cublas::matmul(const Stream& stream, const float* a, const float* b, float* c, int m, int n,
                      int k, Precision precision) {
  return state_->matmul(
      stream, a, b, c, m, n, k, CUDA_R_32F,
      precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
}

Status Cublas::matmul(const Stream& stream, const Bf16* a, const Bf16* b, Bf16* c, int m, int n,
                      int k) {
  return state_->matmul(stream, a, b, c, m, n, k, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
}

}  // namespace tvllm::cuda
