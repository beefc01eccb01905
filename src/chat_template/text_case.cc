// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/utf8.h"
#include "chat_template/text_ops.h"
#include "chat_template/unicode.h"

namespace tvllm::chat_template {

namespace {

constexpr char32_t kCapitalSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;

// A capital sigma that ends a word becomes the final small one. Looks at most so far for a letter:
// marks in a row are few in words, and many only in attacks.
constexpr int kMaxMarks = 32;

bool ends_a_word(std::string_view text, const Char& sigma) {
  bool after_letter = false;
  std::size_t at = sigma.begin;
  for (int i = 0; at > 0 && i < kMaxMarks; ++i) {
    const Char c = char_before(text, at);
    after_letter = is_cased(c.code_point) && !is_case_ignorable(c.code_point);
    if (!is_case_ignorable(c.code_point)) break;
    at = c.begin;
  }
  if (!after_letter) return false;
  at = sigma.end;
  for (int i = 0; at < text.size() && i < kMaxMarks; ++i) {
    const Char c = char_at(text, at);
    if (!is_case_ignorable(c.code_point)) return !is_cased(c.code_point);
    at = c.end;
  }
  return true;
}

CaseForm lower_form(std::string_view text, const Char& c) {
  if (c.code_point == kCapitalSigma && ends_a_word(text, c)) return {kFinalSigma, 0, 0};
  return to_lower(c.code_point);
}

// Writes one character in its new form.
Status put(TextSink& sink, const Text& text, const Char& c, const CaseForm& form) {
  if (form[0] == c.code_point && form[1] == 0) return sink.append(text, c.begin, c.end);
  std::string bytes;
  for (const char32_t part : form) {
    if (part != 0) append_utf8(bytes, part);
  }
  return sink.append_made_from(bytes, text, c.begin, c.end);
}

CaseForm swapped_form(std::string_view text, const Char& c) {
  if (is_upper(c.code_point)) return lower_form(text, c);
  return is_lower(c.code_point) ? to_upper(c.code_point) : CaseForm{c.code_point, 0, 0};
}

}  // namespace

Result<Text> change_case(Budget& budget, const Text& text, CaseChange change) {
  Text out;
  TextSink sink(budget, out);
  TVLLM_RETURN_IF_ERROR(budget.spend_bytes(4 * text.size()));
  const std::string_view bytes = text.bytes();
  bool at_word_start = true;
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = char_at(bytes, at);
    CaseForm form{};
    if (change == CaseChange::kUpper) {
      form = to_upper(c.code_point);
    } else if (change == CaseChange::kSwap) {
      form = swapped_form(bytes, c);
    } else if (change != CaseChange::kLower && at_word_start) {
      form = to_title(c.code_point);
    } else {
      form = lower_form(bytes, c);
    }
    // Capitalize knows one word; title starts another after each character that has no case.
    at_word_start = change == CaseChange::kTitle && !is_cased(c.code_point);
    TVLLM_RETURN_IF_ERROR(put(sink, text, c, form));
    at = c.end;
  }
  return out;
}

Result<Text> title_words(Budget& budget, const Text& text) {
  Text out;
  TextSink sink(budget, out);
  TVLLM_RETURN_IF_ERROR(budget.spend_bytes(4 * text.size()));
  const std::string_view bytes = text.bytes();
  constexpr std::string_view kOpening = "-({[<";
  bool at_word_start = true;
  std::size_t word = 0;  // where the current word begins: lower() must not look before it
  for (std::size_t at = 0; at < bytes.size();) {
    const Char c = char_at(bytes, at);
    const bool is_separator =
        is_space(c.code_point) ||
        (c.code_point < 0x80 &&
         kOpening.find(static_cast<char>(c.code_point)) != std::string_view::npos);
    if (is_separator) {
      TVLLM_RETURN_IF_ERROR(sink.append(text, c.begin, c.end));
      at_word_start = true;
    } else if (at_word_start) {
      TVLLM_RETURN_IF_ERROR(put(sink, text, c, to_upper(c.code_point)));
      at_word_start = false;
      word = c.end;
    } else {
      const Char in_word{c.code_point, c.begin - word, c.end - word};
      TVLLM_RETURN_IF_ERROR(put(sink, text, c, lower_form(bytes.substr(word), in_word)));
    }
    at = c.end;
  }
  return out;
}

}  // namespace tvllm::chat_template
