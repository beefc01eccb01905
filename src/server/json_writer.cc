// SPDX-License-Identifier: Apache-2.0
#include "server/json_writer.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "base/utf8.h"

namespace tvllm::server {

namespace {

constexpr float kMinLogprob = -9999.0f;

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto num_plain = static_cast<std::size_t>(special - text.begin());
    out.append(text.substr(0, num_plain));
    text.remove_prefix(num_plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      append_escaped(out, text.front());
      text.remove_prefix(1);
      continue;
    }
    const Utf8Char character = decode_utf8(text);
    const auto num_bytes = static_cast<std::size_t>(character.num_bytes);
    if (character.state == Utf8State::kComplete) {
      out.append(text.substr(0, num_bytes));
    } else {
      append_utf8(out, 0xFFFD);
    }
    text.remove_prefix(num_bytes);
  }
  out.push_back('"');
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

void append_json_string_or_null(std::string& out, const std::optional<std::string>& text) {
  if (text) {
    append_json_string(out, *text);
  } else {
    out += "null";
  }
}

void append_json_logprob(std::string& out, float logprob) {
  if (std::isnan(logprob)) logprob = kMinLogprob;
  str_append(out, std::clamp(logprob, kMinLogprob, 0.0f));
}

}  // namespace tvllm::server
