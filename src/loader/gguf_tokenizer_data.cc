// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_tokenizer_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "base/utf8.h"
#include "loader/gguf_limits.h"

namespace tvllm::loader {

namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";

Result<std::string> read_text(const GgufFile& file, std::string_view key) {
  TVLLM_TRY(const std::optional<std::string_view> text, file.optional<std::string_view>(key));
  if (!text) return std::string();
  if (!is_valid_utf8(*text)) return file.key_error(key, "expected UTF-8");
  return std::string(*text);
}

Status read_tokens(const GgufFile& file, TokenizerData& data) {
  TVLLM_TRY(const GgufStrings tokens, file.require<GgufStrings>(kTokensKey));
  if (tokens.size() == 0 || tokens.size() > kMaxTokens) {
    return file.key_error(kTokensKey,
                          str_cat("expected 1 to ", kMaxTokens, " tokens, found ", tokens.size()));
  }
  data.tokens.reserve(tokens.size());
  for (const std::string_view token : tokens) {
    if (!is_valid_utf8(token)) {
      return file.key_error(kTokensKey, str_cat("expected UTF-8, found token ", data.tokens.size(),
                                                " ", quoted(token)));
    }
    data.tokens.emplace_back(token);
  }
  return {};
}

Status check_length(const GgufFile& file, std::string_view key, std::size_t length,
                    const TokenizerData& data) {
  if (length == data.tokens.size()) return {};
  return file.key_error(
      key, str_cat("expected one for each of ", data.tokens.size(), " tokens, found ", length));
}

Status read_token_types(const GgufFile& file, TokenizerData& data) {
  using Types = GgufArray<std::int32_t>;
  TVLLM_TRY(const std::optional<Types> types, file.optional<Types>(kTypesKey));
  if (!types) {
    data.token_types.assign(data.tokens.size(), TokenType::kNormal);
    return {};
  }
  TVLLM_RETURN_IF_ERROR(check_length(file, kTypesKey, types->size(), data));
  data.token_types.reserve(types->size());
  for (std::size_t i = 0; i < types->size(); ++i) {
    const std::int32_t type = (*types)[i];
    if (type < static_cast<std::int32_t>(TokenType::kNormal) ||
        type > static_cast<std::int32_t>(TokenType::kByte)) {
      return file.key_error(kTypesKey, str_cat("expected 1 to 6, found ", type, " for token ", i));
    }
    data.token_types.push_back(static_cast<TokenType>(type));
  }
  return {};
}

Status read_scores(const GgufFile& file, TokenizerData& data) {
  TVLLM_TRY(const std::optional<GgufArray<float>> scores,
            file.optional<GgufArray<float>>(kScoresKey));
  if (!scores) return {};
  TVLLM_RETURN_IF_ERROR(check_length(file, kScoresKey, scores->size(), data));
  data.scores.reserve(scores->size());
  for (std::size_t i = 0; i < scores->size(); ++i) {
    const float score = (*scores)[i];
    if (std::isnan(score))
      return file.key_error(kScoresKey, str_cat("expected a number, found NaN for token ", i));
    data.scores.push_back(score);
  }
  return {};
}

// "a b": the parts are separated by the first blank that is not the first character, as a part may
// begin with one where the byte alphabet is not in use.
Status read_merges(const GgufFile& file, TokenizerData& data) {
  TVLLM_TRY(const std::optional<GgufStrings> merges, file.optional<GgufStrings>(kMergesKey));
  if (!merges) {
    if (data.model != "gpt2") return {};
    return file.key_error(kMergesKey, "the key is missing, which a 'gpt2' tokenizer needs");
  }
  if (merges->size() > kMaxMerges) {
    return file.key_error(
        kMergesKey, str_cat("expected at most ", kMaxMerges, " merges, found ", merges->size()));
  }
  data.merges.reserve(merges->size());
  for (const std::string_view merge : *merges) {
    const std::size_t blank = merge.find(' ', 1);
    const bool has_two_parts = blank != std::string_view::npos && blank + 1 < merge.size();
    if (!has_two_parts || merge.find(' ', blank + 2) != std::string_view::npos ||
        !is_valid_utf8(merge)) {
      return file.key_error(kMergesKey, str_cat("expected two parts with a blank between, found ",
                                                quoted(merge), " as merge ", data.merges.size()));
    }
    data.merges.emplace_back(merge.substr(0, blank), merge.substr(blank + 1));
  }
  return {};
}

Result<std::optional<TokenId>> read_token_id(const GgufFile& file, std::string_view key,
                                             const TokenizerData& data) {
  TVLLM_TRY(const std::optional<std::uint32_t> id, file.optional<std::uint32_t>(key));
  if (!id) return std::optional<TokenId>();
  if (*id >= data.tokens.size()) {
    return file.key_error(
        key, str_cat("expected a token id below ", data.tokens.size(), ", found ", *id));
  }
  return std::optional<TokenId>(static_cast<TokenId>(*id));
}

Status read_special_ids(const GgufFile& file, TokenizerData& data) {
  TVLLM_TRY(data.bos_token_id, read_token_id(file, "tokenizer.ggml.bos_token_id", data));
  TVLLM_TRY(data.eos_token_id, read_token_id(file, "tokenizer.ggml.eos_token_id", data));
  TVLLM_TRY(data.unknown_token_id, read_token_id(file, "tokenizer.ggml.unknown_token_id", data));
  TVLLM_TRY(data.padding_token_id, read_token_id(file, "tokenizer.ggml.padding_token_id", data));
  return {};
}

// SentencePiece vocabularies and the Llama 3 family of byte-level ones begin with BOS unless the
// file says no.
bool adds_bos_by_default(const TokenizerData& data) {
  constexpr std::array<std::string_view, 5> kPreTokenizers = {"llama-bpe", "llama3", "llama-v3",
                                                              "tekken", "pixtral"};
  if (!data.bos_token_id) return false;
  if (data.model == "llama") return true;
  return data.model == "gpt2" && std::find(kPreTokenizers.begin(), kPreTokenizers.end(),
                                           data.pre_tokenizer) != kPreTokenizers.end();
}

Status read_switches(const GgufFile& file, TokenizerData& data) {
  TVLLM_TRY(const std::optional<bool> add_bos, file.optional<bool>(kAddBosKey));
  TVLLM_TRY(const std::optional<bool> add_eos, file.optional<bool>(kAddEosKey));
  TVLLM_TRY(const std::optional<bool> add_space,
            file.optional<bool>("tokenizer.ggml.add_space_prefix"));
  data.add_bos_token = add_bos.value_or(adds_bos_by_default(data));
  data.add_eos_token = add_eos.value_or(false);
  data.add_space_prefix = add_space.value_or(data.model == "llama");
  if (data.add_bos_token && !data.bos_token_id)
    return file.key_error(kAddBosKey, "it is true, and the file has no bos_token_id");
  if (data.add_eos_token && !data.eos_token_id)
    return file.key_error(kAddEosKey, "it is true, and the file has no eos_token_id");
  return {};
}

bool is_well_known_end(std::string_view token) {
  constexpr std::array<std::string_view, 6> kEnds = {"<|im_end|>",    "<|eot_id|>",
                                                     "<|eom_id|>",    "<|end_of_text|>",
                                                     "<|endoftext|>", "<end_of_turn>"};
  return std::find(kEnds.begin(), kEnds.end(), token) != kEnds.end();
}

}  // namespace

Result<TokenizerData> read_tokenizer_data(const GgufFile& file) {
  TokenizerData data;
  TVLLM_TRY(const std::string_view model, file.require<std::string_view>("tokenizer.ggml.model"));
  data.model = std::string(model);
  TVLLM_TRY(data.pre_tokenizer, read_text(file, "tokenizer.ggml.pre"));
  TVLLM_TRY(data.chat_template, read_text(file, "tokenizer.chat_template"));
  TVLLM_RETURN_IF_ERROR(read_tokens(file, data));
  TVLLM_RETURN_IF_ERROR(read_token_types(file, data));
  TVLLM_RETURN_IF_ERROR(read_scores(file, data));
  TVLLM_RETURN_IF_ERROR(read_merges(file, data));
  TVLLM_RETURN_IF_ERROR(read_special_ids(file, data));
  TVLLM_RETURN_IF_ERROR(read_switches(file, data));
  return data;
}

Result<std::vector<TokenId>> read_end_token_ids(const GgufFile& file,
                                                const TokenizerData& tokenizer) {
  std::vector<TokenId> ids;
  if (tokenizer.eos_token_id) ids.push_back(*tokenizer.eos_token_id);
  for (const std::string_view key :
       {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    TVLLM_TRY(const std::optional<TokenId> id, read_token_id(file, key, tokenizer));
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
  }
  const std::vector<TokenId> named = ids;  // at most three
  for (std::size_t i = 0; i < tokenizer.tokens.size(); ++i) {
    if (tokenizer.token_types[i] != TokenType::kControl) continue;
    if (!is_well_known_end(tokenizer.tokens[i])) continue;
    const auto id = static_cast<TokenId>(i);
    if (std::find(named.begin(), named.end(), id) == named.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace tvllm::loader
