// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "chat_template/chat_template.h"

namespace tvllm::chat_template {

// tests/data/chat_template/NAME
std::string read_test_file(const std::string& name);
boost::json::object read_test_json(const std::string& name);

enum class Provenance { kOwn, kInput };

// JSON to the values that a server would make of it. Roles stay the template's own, as a server
// checks them; all other text is what `provenance` says.
Value to_value(const boost::json::value& json, Provenance provenance = Provenance::kOwn);

// 2024-02-29 13:05:09
std::tm fixed_time();

// Renders with the fixed time, and gives the text or "error: " and the message.
std::string render_text(const std::string& source, const Value& globals,
                        const RenderLimits& limits = {});
// With {"name": value, ...} as globals.
std::string render_text(const std::string& source, const std::string& json_globals = "{}");

// "<own>[input]<own>": where input begins and ends.
std::string show_input(const std::string& text, const std::vector<Range>& input);

}  // namespace tvllm::chat_template
