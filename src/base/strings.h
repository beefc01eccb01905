// SPDX-License-Identifier: Apache-2.0
// Joining of text and numbers without a formatting library in headers, and strict number parsing.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tvllm {

namespace strings_internal {
void append(std::string& out, std::string_view text);
void append(std::string& out, char c);
void append_bool(std::string& out, bool value);  // "true" / "false"
// The shortest text that reads back as the same number.
void append_float(std::string& out, float value);
void append_float(std::string& out, double value);
void append_int(std::string& out, std::int64_t value);
void append_uint(std::string& out, std::uint64_t value);

template <typename T>
requires(std::is_arithmetic_v<T> && !std::same_as<T, char>) void append(std::string& out, T value) {
  if constexpr (std::same_as<T, bool>) {
    append_bool(out, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    append_float(out, value);
  } else if constexpr (std::is_signed_v<T>) {
    append_int(out, value);
  } else {
    append_uint(out, value);
  }
}

// Strong ids (base/ids.h) are written as their number.
template <typename T>
requires requires(const T& id) {
  typename T::rep;
  id.value();
}
void append(std::string& out, const T& id) {
  append(out, id.value());
}
}  // namespace strings_internal

// str_cat("tensor '", name, "': ", n, " bytes")
template <typename... Args>
std::string str_cat(const Args&... args) {
  std::string out;
  (strings_internal::append(out, args), ...);
  return out;
}

template <typename... Args>
void str_append(std::string& out, const Args&... args) {
  (strings_internal::append(out, args), ...);
}

// "0x1f40": offsets in error sentences.
std::string hex(std::uint64_t value);

// 12.3456, 2 -> "12.35"
std::string fixed(double value, int num_decimals);

// 98362432 -> "93.8 MiB"
std::string human_bytes(std::uint64_t num_bytes);

// Text from outside, made fit for a one-line message: control characters escaped, at most
// `max_len` bytes, cut with "...".
std::string quoted(std::string_view text, std::size_t max_len = 80);

// Whole text, base 10, no blanks, no sign but '-'; nothing when anything is left over or out of
// range.
std::optional<std::int64_t> parse_int64(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // finite numbers only

std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower_ascii(std::string_view text);

}  // namespace tvllm
