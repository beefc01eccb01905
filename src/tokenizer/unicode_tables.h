// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tvllm::tokenizer {

// What the patterns of pre-tokenizers ask of a code point: the major general category in Unicode
// 16.0.0, which is that of the regex engine of HF `tokenizers` 0.23 (Oniguruma), and White_Space.
enum class CharClass : std::uint8_t {
  kOther,          // \p{C}
  kLetter,         // \p{L}
  kMark,           // \p{M}
  kNumber,         // \p{N}
  kNumberSince17,  // new in Unicode 17.0.0: kOther to a pattern, but HF's `Digits` splits there
  kPunctuation,    // \p{P}
  kSymbol,         // \p{S}
  kWhiteSpace,     // \s: \p{Z}, U+0009..U+000D and U+0085
};

// Total: kOther for what is no code point. Thread-safe: a pure function.
CharClass char_class(char32_t code_point);

}  // namespace tvllm::tokenizer
