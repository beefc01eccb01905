// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"

namespace tvllm::tokenizer {

namespace {

Status check_token_id(const std::optional<TokenId>& id, std::string_view role,
                      const Vocabulary& vocabulary) {
  if (!id || vocabulary.contains(*id)) return {};
  return invalid_argument(str_cat("tokenizer: the ", role, " token is ", *id,
                                  ", but the vocabulary has ", vocabulary.size(), " tokens"));
}

Status check_added(bool is_added, const std::optional<TokenId>& id, std::string_view what) {
  if (!is_added || id) return {};
  return invalid_argument(str_cat("tokenizer: ", what, " token is to be added, but none is named"));
}

Result<PreTokenizer> resolve_pre_tokenizer(std::string_view name) {
  if (std::optional<PreTokenizer> known = find_pre_tokenizer(name)) return *known;
  return make_error(ErrorCode::kUnsupported,
                    str_cat("tokenizer: the pre-tokenizer ", quoted(name),
                            " is not known; known are ", known_pre_tokenizers()));
}

}  // namespace

struct Tokenizer::Encoding {
  std::vector<TokenId> ids;
  Bpe::Scratch scratch;
};

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(TokenizerData data) {
  if (data.model != "gpt2") {
    return make_error(ErrorCode::kUnsupported,
                      str_cat("tokenizer: the model ", quoted(data.model),
                              " is not supported; known is gpt2 (byte-level BPE)"));
  }
  TVLLM_TRY(const PreTokenizer pre_tokenizer, resolve_pre_tokenizer(data.pre_tokenizer));
  TVLLM_TRY(std::unique_ptr<const Vocabulary> vocabulary,
            Vocabulary::create(std::move(data.tokens), std::move(data.token_types)));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.bos_token_id, "BOS", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.eos_token_id, "EOS", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.unknown_token_id, "unknown", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.padding_token_id, "padding", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_added(data.add_bos_token, data.bos_token_id, "a BOS"));
  TVLLM_RETURN_IF_ERROR(check_added(data.add_eos_token, data.eos_token_id, "an EOS"));
  TVLLM_TRY(Bpe bpe, Bpe::create(*vocabulary, data.merges, pre_tokenizer.ignore_merges));
  return std::unique_ptr<Tokenizer>(
      new Tokenizer(std::move(vocabulary), std::move(bpe), pre_tokenizer.pattern, data));
}

Tokenizer::Tokenizer(std::unique_ptr<const Vocabulary> vocabulary, Bpe bpe, WordPattern pattern,
                     const TokenizerData& data)
    : vocabulary_(std::move(vocabulary)),
      added_tokens_(*vocabulary_),
      bpe_(std::move(bpe)),
      pattern_(pattern),
      bos_token_id_(data.bos_token_id),
      eos_token_id_(data.eos_token_id),
      unknown_token_id_(data.unknown_token_id),
      padding_token_id_(data.padding_token_id),
      add_bos_token_(data.add_bos_token),
      add_eos_token_(data.add_eos_token) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  Encoding encoding;
  encoding.ids.reserve(text.size() / 4 + 2);  // English has about four bytes a token
  if (options.add_special_tokens && add_bos_token_) encoding.ids.push_back(*bos_token_id_);
  if (options.parse_special && !added_tokens_.empty()) {
    encode_text(text, options, encoding);
  } else {
    encode_plain(text, encoding);
  }
  if (options.add_special_tokens && add_eos_token_) encoding.ids.push_back(*eos_token_id_);
  return std::move(encoding.ids);
}

// Added tokens are looked for in the stretches between literal ranges. What lies between two tokens
// that were found is plain text in one piece, across the ends of ranges: they change what a token
// is, not how words are cut.
void Tokenizer::encode_text(std::string_view text, const EncodeOptions& options,
                            Encoding& encoding) const {
  std::size_t plain_begin = 0;
  const auto encode_stretch = [&](std::size_t begin, std::size_t end) {
    const std::string_view head = text.substr(0, end);
    while (const std::optional<AddedTokens::Match> match = added_tokens_.find(head, begin)) {
      encode_plain(text.substr(plain_begin, match->begin - plain_begin), encoding);
      encoding.ids.push_back(match->id);
      begin = plain_begin = match->end;
    }
  };

  std::vector<ByteRange> literal_ranges(options.literal_ranges.begin(),
                                        options.literal_ranges.end());
  std::sort(literal_ranges.begin(), literal_ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::size_t pos = 0;
  for (const ByteRange& range : literal_ranges) {
    if (range.begin >= range.end) continue;
    encode_stretch(pos, std::min(range.begin, text.size()));
    pos = std::max(pos, std::min(range.end, text.size()));
  }
  encode_stretch(pos, text.size());
  encode_plain(text.substr(plain_begin), encoding);
}

void Tokenizer::encode_plain(std::string_view text, Encoding& encoding) const {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(word_end(pattern_, text, begin), begin + Bpe::kMaxWordBytes);
    bpe_.encode_word(text.substr(begin, end - begin), encoding.scratch, encoding.ids);
    begin = end;
  }
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (skip_special_tokens && is_special(id)) continue;
    bytes += token_bytes(id);
  }
  return is_valid_utf8(bytes) ? bytes : to_valid_utf8(bytes);
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  return vocabulary_->contains(id) ? vocabulary_->bytes(id) : std::string_view();
}

std::string_view Tokenizer::token_text(TokenId id) const {
  return vocabulary_->contains(id) ? vocabulary_->text(id) : std::string_view();
}

bool Tokenizer::is_special(TokenId id) const {
  return vocabulary_->contains(id) && vocabulary_->is_special(id);
}

std::optional<TokenId> Tokenizer::find(std::string_view token_text) const {
  return vocabulary_->find(token_text);
}

}  // namespace tvllm::tokenizer
