// SPDX-License-Identifier: Apache-2.0
// The process's log: one line a message on standard error, thread-safe.
//
// The library never writes to standard output. Messages are built with str_cat (base/strings.h), so
// that no formatting library enters a header.
#pragma once

#include <string_view>

namespace tvllm {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

// Below this level nothing is written. Default kInfo. Thread-safe.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);

// "2026-01-31 12:00:00.123 INFO  message"; line breaks in `message` are escaped, so that text from
// outside cannot forge a line.
void log(LogLevel level, std::string_view message);

inline void log_debug(std::string_view message) {
  log(LogLevel::kDebug, message);
}
inline void log_info(std::string_view message) {
  log(LogLevel::kInfo, message);
}
inline void log_warning(std::string_view message) {
  log(LogLevel::kWarning, message);
}
inline void log_error(std::string_view message) {
  log(LogLevel::kError, message);
}

void flush_log();

}  // namespace tvllm
