// SPDX-License-Identifier: Apache-2.0
// Trace events as docs/trace-events.md promises them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace_event.h"

namespace tvllm::tokenizer {
class Tokenizer;
}

namespace tvllm::server {

// Grows only by kinds and fields; anything else is a new number.
inline constexpr int kTraceFormatVersion = 1;

// One server-sent event: "id: 3f9a-7\ndata: {...}\n\n". Without an id there is no id line.
void append_trace_event(std::string& out, std::string_view id, const trace::TraceEvent& event,
                        const tokenizer::Tokenizer& tokenizer);

// So many events were overtaken before this reader took them.
void append_trace_gap(std::string& out, std::uint64_t num_lost);

}  // namespace tvllm::server
