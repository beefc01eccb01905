// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/runtime/device.h"

#include <utility>

#include "base/strings.h"

namespace tvllm::cuda {

Result<std::unique_ptr<Device>> Device::open(int ordinal) {
  TVLLM_TRY(const int count, device_api::device_count());
  if (ordinal < 0 || ordinal >= count) {
    return make_error(
        ErrorCode::kUnavailable,
        count == 0 ? std::string("cuda: this machine has no CUDA device")
                   : str_cat("cuda: device ", ordinal, " does not exist, there are ", count));
  }
  TVLLM_TRY(device_api::Properties properties, device_api::properties(ordinal));
  TVLLM_RETURN_IF_ERROR(device_api::select_device(ordinal));
  return std::unique_ptr<Device>(new Device(ordinal, std::move(properties)));
}

}  // namespace tvllm::cuda
