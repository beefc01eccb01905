// SPDX-License-Identifier: Apache-2.0
// The functions that every template finds: range, dict, namespace, cycler, joiner, and those of
// Hugging Face, raise_exception and strftime_now.
#pragma once

#include <string_view>

#include "chat_template/objects.h"

namespace tvllm::chat_template {

// nullptr if there is none.
const Builtin* find_function(std::string_view name);

// Whether its error is the template's own message, to be given as it is.
bool is_raise_exception(const Builtin& function);

}  // namespace tvllm::chat_template
