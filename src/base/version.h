// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tvllm {

// The same as project(VERSION) in CMakeLists.txt, which passes it to the units that define it.
extern const std::string_view kVersion;

}  // namespace tvllm
