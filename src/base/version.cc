// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace tvllm {

const std::string_view kVersion = TVLLM_VERSION;

}  // namespace tvllm
