// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/tokenizer/test_data.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::tokenizer {

std::string read_data(std::string_view name) {
  const std::string path = str_cat(TVLLM_TEST_DATA "/tokenizer/", name);
  std::ifstream file(path, std::ios::binary);
  TVLLM_CHECK(file.is_open(), path);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

boost::json::value read_json(std::string_view name) {
  return boost::json::parse(read_data(name));
}

std::vector<std::vector<std::string>> read_rows(std::string_view name) {
  std::vector<std::vector<std::string>> rows;
  const std::string text = read_data(name);
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string_view cell : split(line, '\t'))
      row.emplace_back(cell);
  }
  return rows;
}

std::vector<TokenId> parse_ids(std::string_view text) {
  std::vector<TokenId> ids;
  if (text.empty()) return ids;
  for (const std::string_view id : split(text, ' '))
    ids.push_back(static_cast<TokenId>(*parse_int64(id)));
  return ids;
}

TokenizerData sentence_piece_data() {
  TokenizerData data;
  data.model = "llama";
  for (const std::vector<std::string>& row : read_rows("sentence_piece_vocabulary.tsv")) {
    data.token_types.push_back(static_cast<TokenType>(*parse_int64(row[0])));
    data.scores.push_back(static_cast<float>(*parse_double(row[1])));
    data.tokens.push_back(to_text(boost::json::parse(row[2])));
  }
  data.unknown_token_id = 3;
  return data;
}

TokenizerData smollm2_data() {
  TokenizerData data;
  data.model = "gpt2";
  data.pre_tokenizer = "smollm";
  const boost::json::value first = read_json("smollm2_vocabulary.json");
  for (const boost::json::value& text : first.at("special").as_array()) {
    data.tokens.push_back(to_text(text));
    data.token_types.push_back(TokenType::kControl);
  }
  for (const boost::json::value& text : first.at("alphabet").as_array())
    data.tokens.push_back(to_text(text));
  const std::string pairs = read_data("smollm2_merges.u16");
  for (std::size_t i = 0; i + 3 < pairs.size(); i += 4) {
    const auto id_at = [&pairs](std::size_t at) {
      return static_cast<std::size_t>(static_cast<std::uint8_t>(pairs[at]) |
                                      static_cast<std::uint8_t>(pairs[at + 1]) << 8);
    };
    const std::string left = data.tokens[id_at(i)];
    const std::string right = data.tokens[id_at(i + 2)];
    data.tokens.push_back(left + right);
    data.merges.emplace_back(left, right);
  }
  data.token_types.resize(data.tokens.size(), TokenType::kNormal);
  data.bos_token_id = 1;
  data.eos_token_id = 2;
  data.unknown_token_id = 0;
  data.padding_token_id = 2;
  return data;
}

const Tokenizer& smollm2() {
  static const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(smollm2_data());
  return *tokenizer;
}

TokenizerData byte_data(const std::vector<std::string>& control) {
  TokenizerData data;
  data.model = "gpt2";
  data.pre_tokenizer = "gpt-2";
  for (int byte = 0; byte < 256; ++byte)
    data.tokens.push_back(byte_to_alphabet(static_cast<std::uint8_t>(byte)));
  data.token_types.resize(256, TokenType::kNormal);
  for (const std::string& text : control) {
    data.tokens.push_back(text);
    data.token_types.push_back(TokenType::kControl);
  }
  return data;
}

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerData data) {
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(std::move(data));
  TVLLM_CHECK(tokenizer.has_value(), tokenizer.has_value() ? "" : tokenizer.error().message);
  return std::move(tokenizer).value();
}

std::vector<TokenId> to_ids(const boost::json::value& array) {
  return boost::json::value_to<std::vector<TokenId>>(array);
}

std::string to_text(const boost::json::value& string) {
  return boost::json::value_to<std::string>(string);
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

}  // namespace tvllm::tokenizer
