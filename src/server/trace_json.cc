// SPDX-License-Identifier: Apache-2.0
#include "server/trace_json.h"

#include <array>
#include <string_view>

#include "base/strings.h"
#include "core/token_event.h"
#include "server/json_writer.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {

namespace {

using trace::EventKind;
using trace::TraceEvent;

std::string_view reason_name(std::int32_t value) {
  switch (static_cast<FinishReason>(value)) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
    case FinishReason::kError:
      return "error";
    case FinishReason::kNone:
      break;
  }
  return "none";
}

// In the order of scheduler::SequenceStatus.
std::string_view status_name(std::int32_t value) {
  constexpr std::array<std::string_view, 4> kNames = {"waiting", "running", "preempted",
                                                      "finished"};
  return kNames.at(static_cast<std::size_t>(value));
}

void append_value(std::string& out, std::string_view name, std::int32_t value) {
  str_append(out, ",\"", name, "\":");
  if (name.starts_with("is_") || name.starts_with("has_")) {
    out += value != 0 ? "true" : "false";
  } else if (name == "reason") {
    str_append(out, '"', reason_name(value), '"');
  } else if (name == "status") {
    str_append(out, '"', status_name(value), '"');
  } else {
    str_append(out, value);
  }
}

void append_list(std::string& out, const TraceEvent& event) {
  out += '[';
  for (std::size_t i = 0; i < event.list().size(); ++i)
    str_append(out, i > 0 ? "," : "", event.list()[i]);
  out += ']';
}

}  // namespace

void append_trace_event(std::string& out, std::string_view id, const TraceEvent& event,
                        const tokenizer::Tokenizer& tokenizer) {
  const trace::KindInfo& info = trace::kind_info(event.kind);
  if (!id.empty()) str_append(out, "id: ", id, "\n");
  str_append(out, "data: {\"kind\":\"", info.name, "\"");
  if (event.kind == EventKind::kEngineInfo) {
    str_append(out, ",\"version\":", kTraceFormatVersion);
  } else {
    str_append(out, ",\"step\":", event.step_id, ",\"time_us\":", event.time_us);
  }
  if (info.has_sequence) str_append(out, ",\"seq\":", event.seq_id);
  for (std::size_t i = 0; i < info.fields.size() && !info.fields[i].empty(); ++i)
    append_value(out, info.fields[i], event.values[i]);
  if (info.tail != trace::Tail::kNone) str_append(out, ",\"", info.tail_name, "\":");
  if (info.tail == trace::Tail::kText) append_json_string(out, event.text());
  if (info.tail == trace::Tail::kList) append_list(out, event);
  if (event.kind == EventKind::kTokenProduced) {
    out += ",\"text\":";
    append_json_string(out, tokenizer.token_bytes(event.values[0]));
  }
  out += "}\n\n";
}

void append_trace_gap(std::string& out, std::uint64_t num_lost) {
  str_append(out, "data: {\"kind\":\"gap\",\"num_lost\":", num_lost, "}\n\n");
}

}  // namespace tvllm::server
