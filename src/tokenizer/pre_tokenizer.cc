// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pre_tokenizer.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"
#include "tokenizer/unicode_tables.h"

namespace tvllm::tokenizer {

namespace {

struct NamedPreTokenizer {
  std::string_view name;
  PreTokenizer pre_tokenizer;
};

// The names are those that converters to GGUF write. What is not here would be split differently.
constexpr NamedPreTokenizer kPreTokenizers[] = {
    {"gpt-2", {WordPattern::kGpt2, false}},
    {"phi-2", {WordPattern::kGpt2, false}},
    {"mpt", {WordPattern::kGpt2, false}},
    {"olmo", {WordPattern::kGpt2, false}},
    {"jais", {WordPattern::kGpt2, false}},
    {"trillion", {WordPattern::kGpt2, false}},
    {"gigachat", {WordPattern::kGpt2, false}},
    {"mellum", {WordPattern::kGpt2, false}},
    {"exaone4", {WordPattern::kGpt2, false}},
    {"granite-docling", {WordPattern::kGpt2, false}},
    {"smollm", {WordPattern::kSmollm, false}},
    {"starcoder", {WordPattern::kSmollm, false}},
    {"refact", {WordPattern::kSmollm, false}},
    {"command-r", {WordPattern::kSmollm, false}},
    {"codeshell", {WordPattern::kSmollm, false}},
    {"exaone", {WordPattern::kSmollm, false}},
    {"minerva-7b", {WordPattern::kSmollm, false}},
    {"llama-bpe", {WordPattern::kLlama3, true}},
    {"llama3", {WordPattern::kLlama3, true}},
    {"llama-v3", {WordPattern::kLlama3, true}},
    {"falcon3", {WordPattern::kLlama3, true}},
    {"lfm2", {WordPattern::kLlama3, true}},
    {"dbrx", {WordPattern::kLlama3, false}},
    {"smaug-bpe", {WordPattern::kLlama3, false}},
    {"glm4", {WordPattern::kLlama3, false}},
    {"chatglm-bpe", {WordPattern::kLlama3, false}},
    {"qwen2", {WordPattern::kQwen2, false}},
    {"deepseek-r1-qwen", {WordPattern::kQwen2, false}},
    {"stablelm2", {WordPattern::kQwen2, false}},
    {"megrez", {WordPattern::kQwen2, false}},
    {"hunyuan", {WordPattern::kQwen2, false}},
};

// What the patterns tell apart.
enum class Kind : std::uint8_t { kLetter, kNumber, kSpace, kOther };

struct Char {
  Kind kind;
  std::size_t end;  // where the next character begins
};

// A text as characters with their kinds, for a pattern that does or does not take the numbers of
// Unicode 17 for numbers.
template <bool kKnowsUnicode17>
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end(std::size_t pos) const { return pos >= text_.size(); }
  bool is(std::size_t pos, char c) const { return !at_end(pos) && text_[pos] == c; }
  bool is_newline(std::size_t pos) const { return is(pos, '\n') || is(pos, '\r'); }

  // REQUIRES: !at_end(pos)
  Char at(std::size_t pos) const {
    const std::uint8_t byte = static_cast<std::uint8_t>(text_[pos]);
    if (byte < 0x80) return {kAsciiKinds[byte], pos + 1};
    const Utf8Char c = decode_utf8(text_.substr(pos));
    return {kind_of(char_class(c.code_point)), pos + static_cast<std::size_t>(c.num_bytes)};
  }

  bool is(std::size_t pos, Kind kind) const { return !at_end(pos) && at(pos).kind == kind; }

  std::size_t skip(std::size_t pos, Kind kind) const {
    while (!at_end(pos)) {
      const Char c = at(pos);
      if (c.kind != kind) break;
      pos = c.end;
    }
    return pos;
  }

  // The end of 's, 't, 're, 've, 'm, 'll or 'd at `pos`; `pos` if none is there.
  template <bool kIgnoreCase>
  std::size_t skip_contraction(std::size_t pos) const {
    if (!is(pos, '\'')) return pos;
    const char first = letter_at<kIgnoreCase>(pos + 1);
    const char second = letter_at<kIgnoreCase>(pos + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return pos + 2;
    const bool is_pair =
        ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    if (is_pair) return pos + 3;
    // U+017F, the long s, is an 's' when case is ignored.
    if (kIgnoreCase && text_.substr(pos + 1, 2) == "\xC5\xBF") return pos + 3;
    return pos;
  }

 private:
  static constexpr Kind kind_of(CharClass char_class) {
    switch (char_class) {
      case CharClass::kLetter:
        return Kind::kLetter;
      case CharClass::kNumber:
        return Kind::kNumber;
      case CharClass::kNumberSince17:
        return kKnowsUnicode17 ? Kind::kNumber : Kind::kOther;
      case CharClass::kWhiteSpace:
        return Kind::kSpace;
      default:
        return Kind::kOther;
    }
  }

  static constexpr std::array<Kind, 128> kAsciiKinds = [] {
    std::array<Kind, 128> kinds{};
    for (std::size_t c = 0; c < kinds.size(); ++c) {
      const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool is_number = c >= '0' && c <= '9';
      const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
      kinds[c] = is_letter   ? Kind::kLetter
                 : is_number ? Kind::kNumber
                 : is_space  ? Kind::kSpace
                             : Kind::kOther;
    }
    return kinds;
  }();

  template <bool kLower>
  char letter_at(std::size_t pos) const {
    if (at_end(pos)) return '\0';
    const char c = text_[pos];
    return kLower && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }

  const std::string_view text_;
};

// kSplitNumbers: kSmollm, else kGpt2. To the words between numbers a number is the end of the text:
// it takes no blank in front, and all of the blanks before it are one word.
template <bool kSplitNumbers>
std::size_t gpt2_word_end(std::string_view text, std::size_t begin) {
  const Scanner<kSplitNumbers> scanner(text);
  const std::size_t contraction_end = scanner.template skip_contraction<false>(begin);
  if (contraction_end != begin) return contraction_end;

  const Char first = scanner.at(begin);
  if (first.kind != Kind::kSpace) {
    if (kSplitNumbers && first.kind == Kind::kNumber) return first.end;
    return scanner.skip(first.end, first.kind);
  }
  const auto joins_blank = [](Kind kind) {
    return kind != Kind::kSpace && !(kSplitNumbers && kind == Kind::kNumber);
  };
  if (text[begin] == ' ' && !scanner.at_end(first.end)) {
    const Char second = scanner.at(first.end);
    if (joins_blank(second.kind)) return scanner.skip(second.end, second.kind);
  }
  // \s+(?!\S)|\s+: the last blank before a word is left to that word, unless it is the only one.
  std::size_t last = begin;
  std::size_t end = first.end;
  while (!scanner.at_end(end)) {
    const Char c = scanner.at(end);
    if (c.kind != Kind::kSpace) {
      const bool ends_text = kSplitNumbers && c.kind == Kind::kNumber;
      return ends_text || last == begin ? end : last;
    }
    last = end;
    end = c.end;
  }
  return end;
}

// \s*[\r\n]+|\s+(?!\S)|\s+, at a blank.
std::size_t llama3_blanks_end(const Scanner<false>& scanner, std::size_t begin) {
  std::size_t after_newline = begin;
  std::size_t last = begin;
  std::size_t end = begin;
  while (scanner.is(end, Kind::kSpace)) {
    last = end;
    end = scanner.at(end).end;
    if (scanner.is_newline(last)) after_newline = end;
  }
  if (after_newline != begin) return after_newline;
  return scanner.at_end(end) || last == begin ? end : last;
}

std::size_t llama3_word_end(std::string_view text, std::size_t begin, int max_numbers) {
  const Scanner<false> scanner(text);
  const std::size_t contraction_end = scanner.skip_contraction<true>(begin);
  if (contraction_end != begin) return contraction_end;

  const Char first = scanner.at(begin);
  if (first.kind == Kind::kLetter) return scanner.skip(first.end, Kind::kLetter);
  if (first.kind == Kind::kNumber) {
    std::size_t end = first.end;
    for (int i = 1; i < max_numbers && scanner.is(end, Kind::kNumber); ++i)
      end = scanner.at(end).end;
    return end;
  }
  if (!scanner.is_newline(begin) && scanner.is(first.end, Kind::kLetter)) {
    return scanner.skip(first.end, Kind::kLetter);
  }
  const bool is_blank_then_other = text[begin] == ' ' && scanner.is(first.end, Kind::kOther);
  if (first.kind == Kind::kOther || is_blank_then_other) {
    std::size_t end = scanner.skip(first.end, Kind::kOther);
    while (scanner.is_newline(end))
      ++end;
    return end;
  }
  return llama3_blanks_end(scanner, begin);
}

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  for (const NamedPreTokenizer& known : kPreTokenizers) {
    if (known.name == name) return known.pre_tokenizer;
  }
  return std::nullopt;
}

std::string known_pre_tokenizers() {
  std::string names;
  for (const NamedPreTokenizer& known : kPreTokenizers) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

std::size_t word_end(WordPattern pattern, std::string_view text, std::size_t begin) {
  switch (pattern) {
    case WordPattern::kGpt2:
      return gpt2_word_end<false>(text, begin);
    case WordPattern::kSmollm:
      return gpt2_word_end<true>(text, begin);
    case WordPattern::kLlama3:
      return llama3_word_end(text, begin, 3);
    case WordPattern::kQwen2:
      return llama3_word_end(text, begin, 1);
  }
  return text.size();
}

}  // namespace tvllm::tokenizer
