// SPDX-License-Identifier: Apache-2.0
// What the tokenizer tests are fed: the vocabulary of SmolLM2, a part of Gemma's, small ones made
// by hand, and the files under tests/data/tokenizer that tools/make_tokenizer_golden.py and
// tools/make_sentence_piece_golden.py wrote.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/ids.h"
#include "core/tokenizer_data.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::tokenizer {

// The bytes of tests/data/tokenizer/`name`. Aborts the test binary if it is not there.
std::string read_data(std::string_view name);
boost::json::value read_json(std::string_view name);

// The lines of a .tsv file there, each cut at its tabs.
std::vector<std::vector<std::string>> read_rows(std::string_view name);
std::vector<TokenId> parse_ids(std::string_view text);  // "1 2 3"

// As in the GGUF of SmolLM2-135M-Instruct, without its chat template.
TokenizerData smollm2_data();

// Made once a process.
const Tokenizer& smollm2();

// A small vocabulary out of Gemma's; no BOS is added.
TokenizerData sentence_piece_data();

// All 256 bytes, id = byte, and no merges; then the tokens of `control`.
TokenizerData byte_data(const std::vector<std::string>& control = {});

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerData data);  // expects success

std::vector<TokenId> to_ids(const boost::json::value& array);
std::string to_text(const boost::json::value& string);

// `text` `times` times.
std::string repeat(std::string_view text, std::size_t times);

}  // namespace tvllm::tokenizer
