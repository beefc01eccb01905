// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace tvllm::tokenizer {

namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr int kNumStandIns = 68;  // 33 up to ' ', 34 from 0x7F to 0xA0, and 0xAD

constexpr bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

struct Alphabet {
  std::array<char32_t, 256> char_of_byte{};
  std::array<std::uint8_t, kNumStandIns> byte_of_stand_in{};

  constexpr Alphabet() {
    unsigned num_stand_ins = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (is_printable(static_cast<int>(byte))) {
        char_of_byte[byte] = byte;
      } else {
        char_of_byte[byte] = kFirstStandIn + num_stand_ins;
        byte_of_stand_in[num_stand_ins++] = static_cast<std::uint8_t>(byte);
      }
    }
  }
};

constexpr Alphabet kAlphabet;

std::optional<std::uint8_t> byte_of_char(char32_t c) {
  if (c < kFirstStandIn) {
    if (!is_printable(static_cast<int>(c))) return std::nullopt;
    return static_cast<std::uint8_t>(c);
  }
  if (c - kFirstStandIn >= kNumStandIns) return std::nullopt;
  return kAlphabet.byte_of_stand_in[c - kFirstStandIn];
}

}  // namespace

std::string byte_to_alphabet(std::uint8_t byte) {
  std::string text;
  append_utf8(text, kAlphabet.char_of_byte[byte]);
  return text;
}

std::optional<std::string> alphabet_to_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.state != Utf8State::kComplete) return std::nullopt;
    const std::optional<std::uint8_t> byte = byte_of_char(c.code_point);
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    text.remove_prefix(static_cast<std::size_t>(c.num_bytes));
  }
  return bytes;
}

}  // namespace tvllm::tokenizer
