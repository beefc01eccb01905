// SPDX-License-Identifier: Apache-2.0
// Jinja's filters, by name.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "chat_template/objects.h"

namespace tvllm::chat_template {

// nullptr if there is none.
const Builtin* find_filter(std::string_view name);

// Says whether Jinja has the filter and this engine has not, or nobody has.
Error unknown_filter(std::string_view name, int line);

// The filters of each file.
std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> list_filters();
std::span<const Builtin> selection_filters();

}  // namespace tvllm::chat_template
