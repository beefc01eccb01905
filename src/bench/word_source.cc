// SPDX-License-Identifier: Apache-2.0
#include "bench/word_source.h"

#include <algorithm>

#include "base/strings.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::bench {

namespace {

// A vocabulary with fewer words has no words to speak of.
constexpr std::size_t kLeastWords = 256;

// Text is made longer until it has enough tokens; words are a token each, so twice is the rule.
constexpr int kMaxRounds = 20;

constexpr std::string_view kCommonWords =
    "about after again air all along also always animal another answer any around ask away back "
    "because before began being below between big book both boy came carry change children city "
    "close come could country cut day did different does down each earth eat end enough even every "
    "example eye face far father feet few find first follow food form found four from full gave "
    "get give good great group grow had hand hard have head hear help here high home house idea "
    "important into just keep kind know land large last later learn leave left letter life light "
    "line list little live long made make man many mean men might mile more most mother mountain "
    "move much must name near need never next night now number off often old once one only open "
    "other our out over own page paper part people place plant play point put question quick read "
    "real right river run said same saw say school sea second see seem sentence set she should "
    "show side small some sound spell stand start state still stop story study such take talk tell "
    "than that their them then there these thing think this those thought three through time "
    "together took tree try turn two under until use very walk want watch water way well went were "
    "what when where which while white who why will with without word work world would write year "
    "you young";

bool is_word(std::string_view bytes) {
  return bytes.size() >= 2 && bytes.front() == ' ' &&
         std::all_of(bytes.begin() + 1, bytes.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// Tokens that are a blank and letters, and that such text becomes again.
std::vector<std::string> words_of(const tokenizer::Tokenizer& tokenizer) {
  std::vector<std::string> words;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string_view bytes = tokenizer.token_bytes(id);
    if (tokenizer.is_special(id) || !is_word(bytes)) continue;
    const std::vector<TokenId> again = tokenizer.encode(bytes, {.add_special_tokens = false});
    if (again.size() == 1 && again.front() == id) words.emplace_back(bytes);
  }
  return words;
}

}  // namespace

WordSource::WordSource(const tokenizer::Tokenizer* tokenizer, std::uint64_t seed)
    : tokenizer_(tokenizer), random_(seed) {
  if (tokenizer != nullptr) words_ = words_of(*tokenizer);
  if (words_.size() >= kLeastWords) return;
  words_.clear();
  for (const std::string_view word : split(kCommonWords, ' '))
    words_.push_back(str_cat(" ", word));
}

void WordSource::append_words(std::string& text, std::int32_t count) {
  for (std::int32_t i = 0; i < count; ++i) {
    const auto last = static_cast<std::int64_t>(words_.size()) - 1;
    text += words_[static_cast<std::size_t>(random_.uniform_int(0, last))];
  }
}

BenchPrompt WordSource::make_prompt(std::string_view prefix, std::int32_t num_tokens) {
  BenchPrompt prompt{.text = std::string(prefix)};
  if (tokenizer_ == nullptr) {
    const auto num_given = static_cast<std::int32_t>(std::count(prefix.begin(), prefix.end(), ' '));
    append_words(prompt.text, std::max(0, num_tokens - num_given));
    prompt.num_tokens = std::max(num_tokens, num_given);
    return prompt;
  }
  const auto wanted = static_cast<std::size_t>(num_tokens);
  for (int round = 0; round < kMaxRounds; ++round) {
    prompt.token_ids = tokenizer_->encode(prompt.text);
    if (prompt.token_ids.size() >= wanted) break;
    append_words(prompt.text, static_cast<std::int32_t>(wanted - prompt.token_ids.size()));
  }
  if (prompt.token_ids.size() > wanted) {
    prompt.token_ids.resize(wanted);
    prompt.text = tokenizer_->decode(prompt.token_ids, /*skip_special_tokens=*/true);
    prompt.token_ids = tokenizer_->encode(prompt.text);
  }
  prompt.num_tokens = static_cast<std::int32_t>(prompt.token_ids.size());
  return prompt;
}

}  // namespace tvllm::bench
