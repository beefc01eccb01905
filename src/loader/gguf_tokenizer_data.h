// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/tokenizer_data.h"
#include "loader/gguf.h"

namespace tvllm::loader {

// The `tokenizer.*` metadata of a file. Checked: lists of one length, ids inside the vocabulary,
// every string valid UTF-8, every merge two parts, limits of gguf_limits.h. A missing
// `tokenizer.ggml.pre` stays empty: the tokenizer refuses what it does not know.
//
// Where a file does not say whether to begin with BOS, llama.cpp's default for the kind of
// tokenizer holds, which the writers of such files rely on.
Result<TokenizerData> read_tokenizer_data(const GgufFile& file);

// Ids that end a generation, each once, the file's EOS first: those under eos, eot and eom, and
// control tokens whose text is a well known end ("<|im_end|>", "<|eot_id|>", ...). Chat models
// often name one of them as EOS and use another.
Result<std::vector<TokenId>> read_end_token_ids(const GgufFile& file,
                                                const TokenizerData& tokenizer);

}  // namespace tvllm::loader
