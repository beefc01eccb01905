// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

namespace tvllm {

namespace {

// What may follow a lead byte: Unicode Standard 15, table 3-7. The second byte's range excludes
// overlong forms and surrogates; later bytes are 80..BF.
struct LeadByte {
  int num_bytes;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

LeadByte classify(std::uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Char decode_utf8(std::string_view text) {
  const auto byte_at = [text](int i) {
    return static_cast<std::uint8_t>(text[static_cast<std::size_t>(i)]);
  };
  const LeadByte lead = classify(byte_at(0));
  if (lead.num_bytes == 0) return {Utf8State::kInvalid, 0xFFFD, 1};
  if (lead.num_bytes == 1) return {Utf8State::kComplete, byte_at(0), 1};

  char32_t code_point = byte_at(0) & (0xFFu >> (lead.num_bytes + 1));
  for (int i = 1; i < lead.num_bytes; ++i) {
    if (static_cast<std::size_t>(i) == text.size()) return {Utf8State::kIncomplete, 0xFFFD, i};
    const std::uint8_t byte = byte_at(i);
    const std::uint8_t min = i == 1 ? lead.second_min : std::uint8_t{0x80};
    const std::uint8_t max = i == 1 ? lead.second_max : std::uint8_t{0xBF};
    if (byte < min || byte > max) return {Utf8State::kInvalid, 0xFFFD, i};
    code_point = (code_point << 6) | (byte & 0x3Fu);
  }
  return {Utf8State::kComplete, code_point, lead.num_bytes};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.state != Utf8State::kComplete) return false;
    text.remove_prefix(static_cast<std::size_t>(c.num_bytes));
  }
  return true;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.state == Utf8State::kComplete) {
      out.append(text.substr(0, static_cast<std::size_t>(c.num_bytes)));
    } else {
      append_utf8(out, 0xFFFD);
    }
    text.remove_prefix(static_cast<std::size_t>(c.num_bytes));
  }
  return out;
}

}  // namespace tvllm
