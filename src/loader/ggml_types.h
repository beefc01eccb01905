// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace tvllm::loader {

// A tensor type of GGML, by the number that GGUF files store. `dtype` is empty where this build
// cannot compute with it; the name serves to refuse it by name.
struct GgmlType {
  std::string_view name;
  std::optional<DType> dtype;
};

// Null for a number that no version of GGML has given out.
const GgmlType* ggml_type(std::uint32_t id);

// "F32, F16, ...", for messages.
std::string supported_type_names();

}  // namespace tvllm::loader
