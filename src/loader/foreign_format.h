// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tvllm::loader {

// What a file that is not GGUF looks like, as the rest of a sentence with a remedy ("a Git LFS
// pointer, not the model itself: run 'git lfs pull'"); empty if it looks like nothing known.
std::string_view describe_foreign_format(std::span<const std::byte> bytes);

}  // namespace tvllm::loader
