// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "chat_template/value.h"

namespace tvllm::server {

// A client's JSON as a template sees it. Every string, keys too, is marked as input: a template may
// print it, but it is never read as a control token. `param` names it in errors.
Result<chat_template::Value> json_to_value(const boost::json::value& json,
                                           const std::string& param);

}  // namespace tvllm::server
