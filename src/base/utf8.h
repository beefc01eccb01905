// SPDX-License-Identifier: Apache-2.0
// UTF-8 as of RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tvllm {

enum class Utf8State {
  kComplete,    // a whole character stands at the start
  kIncomplete,  // a proper prefix of a character: more bytes can complete it
  kInvalid,     // no further byte can make this a character
};

struct Utf8Char {
  Utf8State state = Utf8State::kInvalid;
  char32_t code_point = 0xFFFD;
  // Bytes to consume: the character's own; for kInvalid the longest prefix that was well-formed, at
  // least 1 (the Unicode standard's "maximal subpart", as browsers and Python replace it); for
  // kIncomplete all that is left.
  int num_bytes = 1;
};

// The first character of `text`. REQUIRES: !text.empty()
Utf8Char decode_utf8(std::string_view text);

void append_utf8(std::string& out, char32_t code_point);

bool is_valid_utf8(std::string_view text);

// `text` with each maximal invalid or incomplete part replaced by U+FFFD: always valid UTF-8.
std::string to_valid_utf8(std::string_view text);

}  // namespace tvllm
