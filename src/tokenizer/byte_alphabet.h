// SPDX-License-Identifier: Apache-2.0
// The byte alphabet of GPT-2: byte-level BPE vocabularies write each byte as one printable
// character, so that tokens are text. A printable Latin-1 byte is its own character; the other 68,
// in order, are U+0100 and up: ' ' is U+0120, '\n' is U+010A.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tvllm::tokenizer {

// The character of `byte`, as UTF-8 of one or two bytes.
std::string byte_to_alphabet(std::uint8_t byte);

// The bytes that `text` stands for; nothing if it is not written in the alphabet alone.
std::optional<std::string> alphabet_to_bytes(std::string_view text);

}  // namespace tvllm::tokenizer
