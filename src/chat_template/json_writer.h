// SPDX-License-Identifier: Apache-2.0
// The filter `tojson` as Hugging Face defines it: json.dumps without HTML escapes.
#pragma once

#include <optional>

#include "base/result.h"
#include "chat_template/budget.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

struct JsonStyle {
  std::optional<Text> indent;  // one level of it; nothing: all on one line
  Text item_separator{", "};
  Text key_separator{": "};
  bool ensure_ascii = false;
  bool sort_keys = false;
};

Result<Text> to_json(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace tvllm::chat_template
