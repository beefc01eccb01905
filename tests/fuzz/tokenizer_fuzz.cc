// SPDX-License-Identifier: Apache-2.0
// Any bytes as text: what the tokens say is what was encoded, in whole and piece by piece. Any
// bytes as a vocabulary: a tokenizer or an error.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace tvllm::tokenizer {
namespace {

constexpr std::array<const char*, 4> kPreTokenizers = {"smollm", "gpt-2", "llama-bpe", "qwen2"};
constexpr TokenId kFirstControl = 256;
constexpr TokenId kNumControls = 3;

// All bytes, three control tokens that overlap, and merges of letters, blanks and halves of
// characters.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view pre_tokenizer) {
  TokenizerData data;
  data.model = "gpt2";
  data.pre_tokenizer = pre_tokenizer;
  for (int byte = 0; byte < 256; ++byte)
    data.tokens.push_back(byte_to_alphabet(static_cast<std::uint8_t>(byte)));
  data.token_types.assign(256, TokenType::kNormal);
  for (const char* control : {"<|a|>", "<|a|><|b|>", "|>"}) {
    data.tokens.emplace_back(control);
    data.token_types.push_back(TokenType::kControl);
  }
  const std::string blank = byte_to_alphabet(' ');
  const std::string newline = byte_to_alphabet('\n');
  const std::string lead = byte_to_alphabet(0xC3);
  data.merges = {{"a", "b"}, {"b", "c"},   {"ab", "c"},  {blank, "a"},       {blank, blank},
                 {"<", "|"}, {"<|", "a"},  {"ab", "ab"}, {newline, newline}, {lead, "\u00A9"},
                 {"a", "a"}, {"aa", "aa"}, {"|", ">"},   {"abc", "ab"},      {"abab", "ab"}};
  for (const auto& [left, right] : data.merges) {
    data.tokens.push_back(left + right);
    data.token_types.push_back(TokenType::kNormal);
  }
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(std::move(data));
  TVLLM_CHECK(tokenizer.has_value());
  return std::move(tokenizer).value();
}

// The same for SentencePiece, with a run of blanks and a newline that are tokens everywhere.
std::unique_ptr<Tokenizer> make_sentence_piece() {
  TokenizerData data;
  data.model = "llama";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte)
    data.tokens.push_back(str_cat("<0x", kDigits[byte / 16], kDigits[byte % 16], ">"));
  data.token_types.assign(256, TokenType::kByte);
  const auto add = [&data](TokenType type, std::initializer_list<const char*> texts) {
    for (const char* text : texts) {
      data.tokens.emplace_back(text);
      data.token_types.push_back(type);
    }
  };
  add(TokenType::kControl, {"<|a|>", "<|a|><|b|>", "|>"});
  add(TokenType::kNormal,
      {"\u2581a", "ab",       "bc",     "abc",  "<|",      "<|a",     "aa", "aaaa",
       "|>",      ">\u2581<", "\u00e9", "abab", ">\u2581", "\u2581<", "a",  "b",
       "c",       "<",        "|",      ">",    "\u2581",  "<0",      "<0x"});
  add(TokenType::kUserDefined, {"   ", "\n\n", "<|", "\u2581\u2581"});
  for (std::size_t i = 0; i < data.tokens.size(); ++i)
    data.scores.push_back(-static_cast<float>(i));
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(std::move(data));
  TVLLM_CHECK(tokenizer.has_value());
  return std::move(tokenizer).value();
}

void check_text(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options) {
  const std::vector<TokenId> ids = tokenizer.encode(text, options);
  std::string bytes;
  Detokenizer detokenizer(tokenizer, false);
  std::string pieces;
  for (const TokenId id : ids) {
    bytes += tokenizer.token_bytes(id);
    const std::string piece = detokenizer.push(id);
    TVLLM_CHECK(is_valid_utf8(piece));
    TVLLM_CHECK(detokenizer.incomplete().size() <= 3);
    pieces += piece;
  }
  pieces += detokenizer.flush();
  // Whoever escapes blanks takes an escaped one for a blank.
  const bool escapes = tokenizer.token_text(0) == "<0x00>";
  const std::string expected = escapes ? unescape_blanks(text) : std::string(text);
  TVLLM_CHECK(bytes == expected);
  TVLLM_CHECK(pieces == tokenizer.decode(ids, false));
  TVLLM_CHECK(pieces == to_valid_utf8(expected));
}

void check_no_control(const Tokenizer& tokenizer, std::string_view text) {
  const std::array<ByteRange, 1> all = {{{0, text.size()}}};
  const std::vector<TokenId> ids = tokenizer.encode(text, {.literal_ranges = all});
  TVLLM_CHECK(ids == tokenizer.encode(text, {.parse_special = false}));
  for (const TokenId id : ids)
    TVLLM_CHECK(id < kFirstControl || id >= kFirstControl + kNumControls);
}

// Lines are tokens, lines with a tab are merges.
void check_vocabulary(std::uint8_t options, std::string_view description) {
  TokenizerData data;
  data.model = (options & 16) != 0 ? "llama" : "gpt2";
  data.add_space_prefix = (options & 32) != 0;
  data.pre_tokenizer = kPreTokenizers[options % 4];
  for (const std::string_view line : split(description, '\n')) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos) {
      data.merges.emplace_back(line.substr(0, tab), line.substr(tab + 1));
    } else {
      data.tokens.emplace_back(line);
      data.token_types.push_back(static_cast<TokenType>(line.size() % 7));
      data.scores.push_back(static_cast<float>(line.size() % 5));
    }
  }
  if (options & 4) data.bos_token_id = static_cast<TokenId>(options);
  data.add_bos_token = (options & 8) != 0;
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(std::move(data));
  if (!tokenizer.has_value()) return;
  for (const TokenId id : (*tokenizer)->encode(description))
    TVLLM_CHECK(id >= 0 && id < (*tokenizer)->vocab_size());
}

}  // namespace
}  // namespace tvllm::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tvllm::tokenizer;
  static const auto tokenizers = [] {
    std::vector<std::unique_ptr<Tokenizer>> all;
    for (const char* name : kPreTokenizers)
      all.push_back(make_tokenizer(name));
    all.push_back(make_sentence_piece());
    return all;
  }();
  if (size < 3) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (data[0] & 0x80) {
    check_vocabulary(data[0], text);
    return 0;
  }
  const Tokenizer& tokenizer = *tokenizers[(data[0] & 8) != 0 ? 4 : data[0] % 4];
  const std::array<ByteRange, 1> range = {{{data[1], data[2]}}};
  check_text(tokenizer, text, {.parse_special = (data[0] & 4) != 0, .literal_ranges = range});
  check_no_control(tokenizer, text);
  return 0;
}
