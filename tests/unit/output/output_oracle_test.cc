// SPDX-License-Identifier: Apache-2.0
// Random answers against an oracle that sees the whole answer at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "output/output_processor.h"
#include "tests/unit/tokenizer/test_data.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::output {
namespace {

using Ids = std::vector<TokenId>;

// Tokens that overlap with each other and with the stop strings, and that cut characters apart.
constexpr std::string_view kTokens[] = {"a",
                                        "b",
                                        "c",
                                        "ab",
                                        "ba",
                                        "abc",
                                        "cab",
                                        " a",
                                        "aa",
                                        "bab",
                                        "\xc3",
                                        "\xa9",
                                        "\xc3\xa9",
                                        "\xf0\x9f",
                                        "\x98",
                                        "\x80",
                                        "\x98\x80",
                                        "a\xf0",
                                        "\x9f\x98\x80\x62",
                                        "\xff",
                                        "\xa9\x61"};

std::unique_ptr<tokenizer::Tokenizer> make_oracle_tokenizer() {
  TokenizerData data;
  data.model = "gpt2";
  data.pre_tokenizer = "gpt-2";
  for (const std::string_view bytes : kTokens) {
    std::string text;
    for (const char c : bytes)
      text += tokenizer::byte_to_alphabet(static_cast<std::uint8_t>(c));
    data.tokens.push_back(text);
    data.token_types.push_back(TokenType::kNormal);
  }
  data.tokens.push_back("<|special|>");
  data.token_types.push_back(TokenType::kControl);
  return tokenizer::make_tokenizer(std::move(data));
}

// The length of the incomplete character at the end of `bytes`.
std::size_t incomplete_len(const std::string& bytes) {
  for (std::size_t tail = 1; tail <= 3 && tail <= bytes.size(); ++tail) {
    const Utf8Char last = decode_utf8(std::string_view(bytes).substr(bytes.size() - tail));
    if (last.state == Utf8State::kIncomplete) return tail;
  }
  return 0;
}

struct Case {
  Ids ids;
  OutputOptions options;
  FinishReason finish = FinishReason::kLength;
};

// What the whole answer should be.
struct Expected {
  std::string text;
  std::size_t num_tokens = 0;
  bool stopped = false;  // by a stop string
  // After each token, not cut: the text that more bytes cannot change, how many bytes the tokens
  // have, and how many of those are in that text.
  std::vector<std::string> text_after;
  std::vector<std::size_t> num_bytes;
  std::vector<std::size_t> num_settled;
};

Expected oracle(const Case& c) {
  Expected out;
  std::string bytes;
  for (std::size_t i = 0; i < c.ids.size(); ++i) {
    const bool is_last = i + 1 == c.ids.size();
    const bool is_silent =
        (is_last && c.finish == FinishReason::kStop && !c.options.include_stop_str_in_output) ||
        static_cast<std::size_t>(c.ids[i]) >= std::size(kTokens);
    if (!is_silent) bytes += kTokens[static_cast<std::size_t>(c.ids[i])];
    const std::size_t num_settled = bytes.size() - (is_last ? 0 : incomplete_len(bytes));
    out.text_after.push_back(to_valid_utf8(std::string_view(bytes).substr(0, num_settled)));
    out.num_bytes.push_back(bytes.size());
    out.num_settled.push_back(num_settled);
  }
  const std::string& text = out.text_after.back();
  out.text = text;
  out.num_tokens = c.ids.size();
  const auto min_tokens = static_cast<std::size_t>(c.options.min_tokens);
  for (std::size_t end = 1; end <= text.size(); ++end) {
    // The token whose arrival settled the byte before `end`.
    std::size_t token = 0;
    while (out.text_after[token].size() < end)
      ++token;
    if (token + 1 <= min_tokens) continue;
    std::size_t longest = 0;
    for (const std::string& stop : c.options.stop) {
      if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0)
        longest = std::max(longest, stop.size());
    }
    if (longest == 0) continue;
    out.text = text.substr(0, c.options.include_stop_str_in_output ? end : end - longest);
    out.num_tokens = token + 1;
    out.stopped = true;
    break;
  }
  return out;
}

std::size_t held_by_stop(const std::string& text, const OutputOptions& options) {
  std::size_t longest = 0;
  if (options.include_stop_str_in_output) return 0;
  for (const std::string& stop : options.stop) {
    for (std::size_t len = 1; len < stop.size() && len <= text.size(); ++len) {
      if (text.compare(text.size() - len, len, stop, 0, len) == 0) longest = std::max(longest, len);
    }
  }
  return longest;
}

Case random_case(std::mt19937& rng) {
  static const std::vector<std::string> parts = {
      "a", "b", "c", "ab", "abc", " a", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"};
  Case c;
  c.ids.resize(1 + rng() % 25);
  for (TokenId& id : c.ids)
    id = static_cast<TokenId>(rng() % (std::size(kTokens) + 1));
  c.options.stop.resize(rng() % 4);
  for (std::string& stop : c.options.stop) {
    for (std::size_t i = 1 + rng() % 4; i > 0; --i)
      stop += parts[rng() % parts.size()];
  }
  c.options.include_stop_str_in_output = rng() % 4 == 0;
  c.options.min_tokens = rng() % 3 == 0 ? static_cast<std::int32_t>(rng() % 12) : 0;
  c.finish = rng() % 2 == 0 ? FinishReason::kLength : FinishReason::kStop;
  return c;
}

class OutputOracleTest : public ::testing::Test {
 protected:
  const std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = make_oracle_tokenizer();
};

TEST_F(OutputOracleTest, RandomAnswersAreCutHeldAndAlignedAsTheOracleSays) {
  std::mt19937 rng(20240608);
  int num_stopped = 0;
  int num_held = 0;
  for (int round = 0; round < 30000; ++round) {
    SCOPED_TRACE(round);
    const Case c = random_case(rng);
    const Expected expected = oracle(c);
    num_stopped += expected.stopped ? 1 : 0;
    OutputProcessor processor(*tokenizer_, c.options);

    std::string shown;
    Ids ids;
    OutputDelta last;
    for (std::size_t i = 0; i < c.ids.size() && !processor.is_finished(); ++i) {
      TokenEvent event;
      event.token_id = c.ids[i];
      event.has_logprobs = true;
      event.logprobs.token.token_id = c.ids[i];
      event.logprobs.token.rank = static_cast<std::int32_t>(i);
      if (i + 1 == c.ids.size()) event.finish_reason = c.finish;
      last = processor.process(std::move(event));

      shown += last.text;
      ASSERT_TRUE(is_valid_utf8(last.text));
      ASSERT_EQ(expected.text.compare(0, shown.size(), shown), 0) << "not a prefix: " << shown;
      for (const TokenPiece& piece : last.tokens) {
        ASSERT_EQ(piece.logprobs->token.token_id, piece.id);
        ASSERT_EQ(piece.logprobs->token.rank, static_cast<std::int32_t>(ids.size()));
        ids.push_back(piece.id);
      }
      ASSERT_EQ(last.num_output_tokens, static_cast<std::int32_t>(i) + 1);
      if (processor.is_finished()) break;

      // No more is held than an incomplete character and what begins a stop string.
      const std::string& settled = expected.text_after[i];
      const std::size_t held_len = held_by_stop(settled, c.options);
      ASSERT_EQ(shown.size(), settled.size() - held_len);
      num_held += held_len > 0 ? 1 : 0;
      // A token is out exactly if all its bytes are settled and the text then settled is shown.
      std::size_t num_out = 0;
      for (std::size_t k = 0; k <= i; ++k) {
        std::size_t settled_at = k;
        while (settled_at <= i && expected.num_settled[settled_at] < expected.num_bytes[k])
          ++settled_at;
        if (settled_at > i || expected.text_after[settled_at].size() > shown.size()) break;
        ++num_out;
      }
      ASSERT_EQ(ids.size(), num_out);
    }
    ASSERT_EQ(shown, expected.text);
    ASSERT_EQ(ids,
              Ids(c.ids.begin(), c.ids.begin() + static_cast<std::ptrdiff_t>(expected.num_tokens)));
    ASSERT_EQ(last.finish_reason, expected.stopped ? FinishReason::kStop : c.finish);
    ASSERT_EQ(std::holds_alternative<std::string>(last.stop_reason), expected.stopped);
    ASSERT_EQ(last.should_cancel, expected.stopped && expected.num_tokens < c.ids.size());
  }
  EXPECT_GT(num_stopped, 5000);
  EXPECT_GT(num_held, 5000);
}

}  // namespace
}  // namespace tvllm::output
