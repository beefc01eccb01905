// SPDX-License-Identifier: Apache-2.0
// Trace events as docs/trace-events.md promises them.
#pragma once

#include <cstdint>
#include <string>

#include "trace/trace_event.h"

namespace tvllm::tokenizer {
class Tokenizer;
}

namespace tvllm::server {

// Grows only by kinds and fields; anything else is a new number.
inline constexpr int kTraceFormatVersion = 1;

// One server-sent event: "id: 7\ndata: {...}\n\n". Without a number there is no id line.
void append_trace_event(std::string& out, std::uint64_t number, const trace::TraceEvent& event,
                        const tokenizer::Tokenizer& tokenizer);
inline constexpr std::uint64_t kNoEventNumber = 0;

// So many events were overtaken before this reader took them.
void append_trace_gap(std::string& out, std::uint64_t num_lost);

}  // namespace tvllm::server
