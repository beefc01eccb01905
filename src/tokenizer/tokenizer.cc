// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "tokenizer/byte_level_encoder.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/sentence_piece.h"

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

constexpr std::string_view kByteLevel = "gpt2";
constexpr std::string_view kSentencePiece = "llama";

Result<std::unique_ptr<const PlainEncoder>> make_encoder(const Vocabulary& vocabulary,
                                                         const TokenizerData& data) {
  if (data.model == kSentencePiece) {
    TVLLM_TRY(SentencePiece encoder,
              SentencePiece::create(vocabulary, data.scores, data.unknown_token_id));
    return std::unique_ptr<const PlainEncoder>(std::make_unique<SentencePiece>(std::move(encoder)));
  }
  TVLLM_TRY(const PreTokenizer pre_tokenizer, resolve_pre_tokenizer(data.pre_tokenizer));
  TVLLM_TRY(Bpe bpe, Bpe::create(vocabulary, data.merges, pre_tokenizer.ignore_merges));
  return std::unique_ptr<const PlainEncoder>(
      std::make_unique<ByteLevelEncoder>(std::move(bpe), pre_tokenizer.pattern));
}

// Special tokens of each model, and byte-level BPE's user-defined ones with them.
bool is_special_type(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUnknown;
}
bool is_added_type(TokenType type) {
  return is_special_type(type) || type == TokenType::kUserDefined;
}
bool is_user_defined(TokenType type) {
  return type == TokenType::kUserDefined;
}
bool is_none(TokenType) {
  return false;
}

}  // namespace

// The added tokens of one text, in order. `special_tokens` are looked for between the literal
// ranges, `text_tokens` everywhere; of two that begin together the longer one counts.
class Tokenizer::AddedTokenWalk {
 public:
  AddedTokenWalk(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options)
      : tokenizer_(tokenizer),
        text_(text),
        literal_ranges_(options.literal_ranges.begin(), options.literal_ranges.end()),
        has_special_(options.parse_special && !tokenizer.special_tokens_.empty()),
        has_text_(!tokenizer.text_tokens_.empty()) {
    std::erase_if(literal_ranges_, [](const ByteRange& range) { return range.begin >= range.end; });
    std::sort(literal_ranges_.begin(), literal_ranges_.end(),
              [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  }

  std::optional<AddedTokens::Match> next() {
    if (has_special_ && (!special_ || special_->begin < pos_)) find_special();
    if (has_text_ && (!found_text_ || found_text_->begin < pos_)) {
      found_text_ = tokenizer_.text_tokens_.find(text_, pos_);
      has_text_ = found_text_.has_value();
    }
    const bool takes_special =
        special_ && (!found_text_ || special_->begin < found_text_->begin ||
                     (special_->begin == found_text_->begin && special_->end >= found_text_->end));
    const std::optional<AddedTokens::Match> match = takes_special ? special_ : found_text_;
    if (match) pos_ = match->end;
    return match;
  }

 private:
  // From pos_ on, in the stretches between literal ranges.
  void find_special() {
    std::size_t begin = pos_;
    for (; literal_idx_ < literal_ranges_.size(); ++literal_idx_) {
      const ByteRange& literal = literal_ranges_[literal_idx_];
      const std::size_t end = std::min(literal.begin, text_.size());
      special_ = tokenizer_.special_tokens_.find(text_.substr(0, end), begin);
      if (special_) return;
      begin = std::max(begin, std::min(literal.end, text_.size()));
    }
    special_ = tokenizer_.special_tokens_.find(text_, begin);
    has_special_ = special_.has_value();
  }

  const Tokenizer& tokenizer_;
  const std::string_view text_;
  std::vector<ByteRange> literal_ranges_;  // sorted
  std::size_t literal_idx_ = 0;            // the first that may end behind pos_
  std::size_t pos_ = 0;                    // behind the last match
  bool has_special_;                       // more of them may follow
  bool has_text_;
  std::optional<AddedTokens::Match> special_;  // the next of each kind, found ahead
  std::optional<AddedTokens::Match> found_text_;
};

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(TokenizerData data) {
  if (data.model != kByteLevel && data.model != kSentencePiece) {
    return make_error(ErrorCode::kUnsupported,
                      str_cat("tokenizer: the model ", quoted(data.model),
                              " is not supported; known are gpt2 (byte-level BPE) and llama "
                              "(SentencePiece)"));
  }
  const TokenWriting writing =
      data.model == kByteLevel ? TokenWriting::kByteAlphabet : TokenWriting::kSentencePiece;
  TVLLM_TRY(std::unique_ptr<const Vocabulary> vocabulary,
            Vocabulary::create(std::move(data.tokens), std::move(data.token_types), writing));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.bos_token_id, "BOS", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.eos_token_id, "EOS", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.unknown_token_id, "unknown", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_token_id(data.padding_token_id, "padding", *vocabulary));
  TVLLM_RETURN_IF_ERROR(check_added(data.add_bos_token, data.bos_token_id, "a BOS"));
  TVLLM_RETURN_IF_ERROR(check_added(data.add_eos_token, data.eos_token_id, "an EOS"));
  TVLLM_TRY(std::unique_ptr<const PlainEncoder> encoder, make_encoder(*vocabulary, data));
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(vocabulary), std::move(encoder), data));
}

Tokenizer::Tokenizer(std::unique_ptr<const Vocabulary> vocabulary,
                     std::unique_ptr<const PlainEncoder> encoder, const TokenizerData& data)
    : vocabulary_(std::move(vocabulary)),
      encoder_(std::move(encoder)),
      special_tokens_(*vocabulary_, data.model == kByteLevel ? is_added_type : is_special_type),
      text_tokens_(*vocabulary_, data.model == kByteLevel ? is_none : is_user_defined),
      add_space_prefix_(data.model == kSentencePiece && data.add_space_prefix),
      bos_token_id_(data.bos_token_id),
      eos_token_id_(data.eos_token_id),
      unknown_token_id_(data.unknown_token_id),
      padding_token_id_(data.padding_token_id),
      add_bos_token_(data.add_bos_token),
      add_eos_token_(data.add_eos_token) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4 + 2);  // English has about four bytes a token
  if (options.add_special_tokens && add_bos_token_) ids.push_back(*bos_token_id_);
  encode_text(text, options, ids);
  if (options.add_special_tokens && add_eos_token_) ids.push_back(*eos_token_id_);
  return ids;
}

// What lies between two added tokens that were found is plain text in one piece, across the ends of
// literal ranges: they change what a token is, not how words are cut.
void Tokenizer::encode_text(std::string_view text, const EncodeOptions& options,
                            std::vector<TokenId>& out) const {
  std::size_t begin = 0;
  const auto encode_plain = [&](std::size_t end) {
    if (begin == 0 && end > 0 && add_space_prefix_) {
      encoder_->encode(str_cat(" ", text.substr(0, end)), out);
    } else {
      encoder_->encode(text.substr(begin, end - begin), out);
    }
  };
  AddedTokenWalk walk(*this, text, options);
  while (const std::optional<AddedTokens::Match> match = walk.next()) {
    encode_plain(match->begin);
    out.push_back(match->id);
    begin = match->end;
  }
  encode_plain(text.size());
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (skip_special_tokens && is_special(id)) continue;
    bytes += token_bytes(id);
  }
  if (add_space_prefix_ && bytes.starts_with(' ')) bytes.erase(0, 1);
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
