// SPDX-License-Identifier: Apache-2.0
// JSON written by hand: a token costs one append, not a tree. Every function is total, so what goes
// out is valid JSON and valid UTF-8 whatever comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tvllm::server {

// With quotes; what is not UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// null for nothing.
void append_json_string_or_null(std::string& out, const std::optional<std::string>& text);

// JSON has no infinities: a token that cannot be has -9999, as in vLLM.
void append_json_logprob(std::string& out, float logprob);

}  // namespace tvllm::server
