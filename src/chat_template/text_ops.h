// SPDX-License-Identifier: Apache-2.0
// What Python's str methods do, on text that remembers where it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat_template/budget.h"
#include "chat_template/text.h"

namespace tvllm::chat_template {

enum class Side { kLeft, kRight, kBoth };

// What is left without the characters of `chars` (white space if nullopt) at its ends.
Result<Text> strip(Budget& budget, const Text& text, std::optional<std::string_view> chars,
                   Side side);

// Parts between separators; at most `max_splits` cuts, any number if it is negative. Without a
// separator, cuts at white space and gives no empty parts.
Result<std::vector<Text>> split_text(Budget& budget, const Text& text,
                                     std::optional<std::string_view> separator,
                                     std::int64_t max_splits);
Result<std::vector<Text>> split_text_from_right(Budget& budget, const Text& text,
                                                std::optional<std::string_view> separator,
                                                std::int64_t max_splits);
Result<std::vector<Text>> split_lines(Budget& budget, const Text& text, bool keep_ends);

Result<Text> replace_text(Budget& budget, const Text& text, std::string_view old, const Text& by,
                          std::int64_t max_times);

enum class CaseChange { kUpper, kLower, kCapitalize, kTitle, kSwap };
Result<Text> change_case(Budget& budget, const Text& text, CaseChange change);

// Jinja's title filter cuts words at - ( { [ < and white space, Python's method at any non-letter.
Result<Text> title_words(Budget& budget, const Text& text);

// <, >, &, ' and " as HTML writes them.
Result<Text> escape_html(Budget& budget, const Text& text);

// `width` characters, filled with `fill` at one side or both, as str.center does.
Result<Text> pad(Budget& budget, const Text& text, std::int64_t width, const Text& fill,
                 Side text_side);

}  // namespace tvllm::chat_template
