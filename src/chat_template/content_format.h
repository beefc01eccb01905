// SPDX-License-Identifier: Apache-2.0
// Which form of message.content a template reads.
#pragma once

#include "chat_template/statement.h"

namespace tvllm::chat_template {

enum class ContentFormat {
  kString,  // one text: parts are joined before the template sees them
  kParts,   // a list of {"type": "text", "text": ...}: the template goes through it
};

// kParts if the template loops over a message's content, filters it as a list, or looks into its
// first part; followed through variables, slices, namespaces and macro parameters.
ContentFormat detect_content_format(const Template& source);

}  // namespace tvllm::chat_template
