// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <array>

namespace tvllm {

namespace {

// In the order of the enumeration. Block layouts: tensor/quant_blocks.h.
constexpr std::array<DTypeInfo, 11> kInfos = {{
    {"F32", 1, 4},
    {"F16", 1, 2},
    {"BF16", 1, 2},
    {"Q4_0", 32, 18},
    {"Q4_1", 32, 20},
    {"Q5_0", 32, 22},
    {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},
    {"Q4_K", 256, 144},
    {"Q5_K", 256, 176},
    {"Q6_K", 256, 210},
}};

}  // namespace

const DTypeInfo& dtype_info(DType dtype) {
  return kInfos[static_cast<std::size_t>(dtype)];
}

}  // namespace tvllm
