// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace tvllm {

namespace strings_internal {

void append(std::string& out, std::string_view text) {
  out.append(text);
}
void append(std::string& out, char c) {
  out.push_back(c);
}
void append_bool(std::string& out, bool value) {
  out.append(value ? "true" : "false");
}

namespace {
template <typename T>
void append_chars(std::string& out, T value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  if (error == std::errc()) out.append(buffer.data(), end);
}
}  // namespace

void append_float(std::string& out, float value) {
  append_chars(out, value);
}
void append_float(std::string& out, double value) {
  append_chars(out, value);
}
void append_int(std::string& out, std::int64_t value) {
  append_chars(out, value);
}
void append_uint(std::string& out, std::uint64_t value) {
  append_chars(out, value);
}

}  // namespace strings_internal

std::string hex(std::uint64_t value) {
  std::array<char, 20> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16);
  return error == std::errc() ? "0x" + std::string(buffer.data(), end) : "0x?";
}

std::string fixed(double value, int num_decimals) {
  std::array<char, 400> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, num_decimals);
  return error == std::errc() ? std::string(buffer.data(), end) : "?";
}

std::string human_bytes(std::uint64_t num_bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(num_bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return str_cat(fixed(value, unit == 0 ? 0 : 1), " ", kUnits[unit]);
}

std::string quoted(std::string_view text, std::size_t max_len) {
  std::string out = "'";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (out.size() > max_len) {
      out += "...";
      break;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f || byte >= 0x80) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += text[i];
    }
  }
  return out + "'";
}

namespace {
template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  const std::optional<double> value = parse_whole<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

std::string to_lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace tvllm
