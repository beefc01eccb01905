// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/block_hash.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/check.h"
#include "base/entropy.h"

namespace tvllm::kv_cache {

void TokenHistory::copy_to(std::int32_t first, std::span<TokenId> tokens) const {
  TVLLM_DCHECK(first >= 0 && static_cast<std::size_t>(first) + tokens.size() <=
                                 prompt.size() + outputs.size(),
               tokens.size(), " tokens from ", first, " on of ", size());
  const std::size_t begin = static_cast<std::size_t>(first);
  const std::size_t num_of_prompt =
      begin < prompt.size() ? std::min(tokens.size(), prompt.size() - begin) : 0;
  std::copy_n(prompt.data() + std::min(begin, prompt.size()), num_of_prompt, tokens.data());
  const std::size_t num_of_outputs = tokens.size() - num_of_prompt;
  if (num_of_outputs == 0) return;
  std::copy_n(outputs.data() + (begin + num_of_prompt - prompt.size()), num_of_outputs,
              tokens.data() + num_of_prompt);
}

struct BlockHasher::Sha256 {
  Sha256() : method(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context(EVP_MD_CTX_new()) {
    TVLLM_CHECK(method != nullptr && context != nullptr, "libcrypto has no SHA-256");
  }
  ~Sha256() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(method);
  }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void begin() { TVLLM_CHECK(EVP_DigestInit_ex2(context, method, nullptr) == 1, "SHA-256"); }
  void add(const void* bytes, std::size_t num_bytes) {
    TVLLM_CHECK(EVP_DigestUpdate(context, bytes, num_bytes) == 1, "SHA-256");
  }
  BlockHash end() {
    BlockHash hash;
    TVLLM_CHECK(EVP_DigestFinal_ex(context, hash.bytes.data(), nullptr) == 1, "SHA-256");
    return hash;
  }

  EVP_MD* method;
  EVP_MD_CTX* context;
};

BlockHasher::BlockHasher(std::optional<std::uint64_t> seed) : sha256_(std::make_unique<Sha256>()) {
  for (std::size_t i = 0; i < secret_.size(); ++i) {
    secret_[i] = seed ? *seed + i : random_seed();
  }
}

BlockHasher::~BlockHasher() = default;

BlockHash BlockHasher::root(std::span<const ExtraKey> keys) {
  sha256_->begin();
  sha256_->add(secret_.data(), sizeof secret_);
  for (const ExtraKey& key : keys) {
    const std::uint64_t num_bytes = key.bytes.size();
    sha256_->add(&key.kind, sizeof key.kind);
    sha256_->add(&num_bytes, sizeof num_bytes);
    sha256_->add(key.bytes.data(), key.bytes.size());
  }
  return sha256_->end();
}

BlockHash BlockHasher::child(const BlockHash& parent, std::span<const TokenId> token_ids) {
  sha256_->begin();
  sha256_->add(parent.bytes.data(), parent.bytes.size());
  sha256_->add(token_ids.data(), token_ids.size_bytes());
  return sha256_->end();
}

}  // namespace tvllm::kv_cache
