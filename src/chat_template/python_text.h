// SPDX-License-Identifier: Apache-2.0
// Values as Python prints them.
#pragma once

#include <string>

#include "base/result.h"
#include "chat_template/budget.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

// str(): a string is itself, an undefined value is nothing, all else is as repr() shows it.
Status write_text(TextSink& sink, const Value& value);
Result<Text> to_text(Budget& budget, const Value& value);

// repr(): 'it''s' quoted and escaped, True, None, [1, 2.0], {'a': 1}.
Status write_repr(TextSink& sink, const Value& value);

// The shortest form that reads back as the same number: 1.0, 1e+16, 1e-05, inf.
std::string float_repr(double value);

}  // namespace tvllm::chat_template
