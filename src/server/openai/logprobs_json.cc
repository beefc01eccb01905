// SPDX-License-Identifier: Apache-2.0
#include "server/openai/logprobs_json.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"
#include "output/output_processor.h"
#include "server/json_writer.h"

namespace tvllm::server {

using output::TokenPiece;
using tokenizer::Tokenizer;

namespace {

std::string token_name(TokenId id, const AnswerForm& form, const Tokenizer& tokenizer) {
  if (form.return_tokens_as_token_ids) return str_cat("token_id:", id);
  return output::lossy_token_text(tokenizer, id);
}

// The best tokens that are shown: as many as were asked for, or all.
std::span<const TokenLogprob> shown_top(const PositionLogprobs& position, const AnswerForm& form) {
  const std::span<const TokenLogprob> top = position.top;
  const std::int32_t count = form.num_logprobs.value_or(0);
  return count < 0 ? top : top.first(std::min(top.size(), static_cast<std::size_t>(count)));
}

void append_bytes(std::string& out, std::string_view bytes) {
  out += '[';
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out += ',';
    str_append(out, int{static_cast<unsigned char>(bytes[i])});
  }
  out += ']';
}

// Without the closing brace.
void append_chat_token(std::string& out, const TokenLogprob& entry, const AnswerForm& form,
                       const Tokenizer& tokenizer) {
  out += R"({"token":)";
  append_json_string(out, token_name(entry.token_id, form, tokenizer));
  out += R"(,"logprob":)";
  append_json_logprob(out, entry.logprob);
  out += R"(,"bytes":)";
  append_bytes(out, tokenizer.token_bytes(entry.token_id));
}

}  // namespace

void append_chat_logprobs(std::string& out, std::span<const TokenPiece> tokens,
                          const AnswerForm& form, const Tokenizer& tokenizer) {
  out += R"({"content":[)";
  bool is_first = true;
  for (const TokenPiece& piece : tokens) {
    if (!piece.logprobs) continue;
    if (!is_first) out += ',';
    is_first = false;
    append_chat_token(out, piece.logprobs->token, form, tokenizer);
    out += R"(,"top_logprobs":[)";
    const auto top = shown_top(*piece.logprobs, form);
    for (std::size_t i = 0; i < top.size(); ++i) {
      if (i > 0) out += ',';
      append_chat_token(out, top[i], form, tokenizer);
      out += '}';
    }
    out += "]}";
  }
  out += R"(],"refusal":null})";
}

namespace {

// {" is":-0.1," was":-2.5}. Tokens of different bytes can have the same text (parts of characters
// are all U+FFFD); a key stands once, for the most probable.
void append_top_entry(std::string& out, const PositionLogprobs& position, const AnswerForm& form,
                      const Tokenizer& tokenizer) {
  std::vector<std::string> names;
  const auto append = [&](const TokenLogprob& entry) {
    std::string name = token_name(entry.token_id, form, tokenizer);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    if (!names.empty()) out += ',';
    append_json_string(out, name);
    out += ':';
    append_json_logprob(out, entry.logprob);
    names.push_back(std::move(name));
  };
  out += '{';
  append(position.token);
  for (const TokenLogprob& entry : shown_top(position, form))
    append(entry);
  out += '}';
}

template <typename AppendItem>
void append_list(std::string& out, std::string_view name, std::span<const TokenPiece> tokens,
                 const AppendItem& append_item) {
  str_append(out, "\"", name, "\":[");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    append_item(tokens[i]);
  }
  out += ']';
}

}  // namespace

void append_completion_logprobs(std::string& out, std::span<const TokenPiece> tokens,
                                std::size_t offset_base, const AnswerForm& form,
                                const Tokenizer& tokenizer) {
  out += '{';
  append_list(out, "text_offset", tokens,
              [&](const TokenPiece& piece) { str_append(out, offset_base + piece.text_offset); });
  out += ',';
  append_list(out, "token_logprobs", tokens, [&](const TokenPiece& piece) {
    if (piece.logprobs) {
      append_json_logprob(out, piece.logprobs->token.logprob);
    } else {
      out += "null";
    }
  });
  out += ',';
  append_list(out, "tokens", tokens, [&](const TokenPiece& piece) {
    append_json_string(out, token_name(piece.id, form, tokenizer));
  });
  out += ',';
  append_list(out, "top_logprobs", tokens, [&](const TokenPiece& piece) {
    if (piece.logprobs) {
      append_top_entry(out, *piece.logprobs, form, tokenizer);
    } else {
      out += "null";
    }
  });
  out += '}';
}

void append_prompt_logprobs(std::string& out, std::span<const PositionLogprobs> positions,
                            const Tokenizer& tokenizer) {
  out += "[null";
  for (const PositionLogprobs& position : positions) {
    std::vector<TokenId> seen;
    const auto append = [&](const TokenLogprob& entry) {
      if (std::find(seen.begin(), seen.end(), entry.token_id) != seen.end()) return;
      str_append(out, seen.empty() ? "" : ",", "\"", entry.token_id, R"(":{"logprob":)");
      append_json_logprob(out, entry.logprob);
      str_append(out, R"(,"rank":)", entry.rank, R"(,"decoded_token":)");
      append_json_string(out, output::lossy_token_text(tokenizer, entry.token_id));
      out += '}';
      seen.push_back(entry.token_id);
    };
    out += ",{";
    append(position.token);
    for (const TokenLogprob& entry : position.top)
      append(entry);
    out += '}';
  }
  out += ']';
}

std::vector<TokenPiece> with_logprobs(std::vector<TokenPiece> tokens,
                                      std::span<const PositionLogprobs> positions) {
  for (std::size_t i = 0; i < positions.size() && i + 1 < tokens.size(); ++i)
    tokens[i + 1].logprobs = positions[i];
  return tokens;
}

}  // namespace tvllm::server
