// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "chat_template/runtime.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

// Python's format % value: %s %r %d %i %x %X %o %c %f %F %% and %(name)s, with flags, width and
// precision. The other conversions are errors that say so.
Result<Value> percent_format(Runtime& runtime, const Text& format, const Value& value);

}  // namespace tvllm::chat_template
