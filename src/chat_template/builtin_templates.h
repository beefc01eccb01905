// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tvllm::chat_template {

// ChatML, for a model that has no template of its own.
inline constexpr std::string_view kChatMlTemplate =
    "{%- for message in messages -%}\n"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}\n";

}  // namespace tvllm::chat_template
