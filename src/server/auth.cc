// SPDX-License-Identifier: Apache-2.0
#include "server/auth.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/strings.h"

namespace tvllm::server {

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    digests_.push_back(digest_of(key));
}

ApiKeys::Digest ApiKeys::digest_of(std::string_view key) {
  Digest digest;
  ::SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

bool ApiKeys::accepts(std::string_view authorization) const {
  if (empty()) return true;
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size() ||
      to_lower_ascii(authorization.substr(0, kScheme.size())) != kScheme) {
    return false;
  }
  const Digest given = digest_of(authorization.substr(kScheme.size()));
  bool found = false;
  for (const Digest& digest : digests_) {
    // No early end: how many keys were tried must not show.
    found |= ::CRYPTO_memcmp(given.data(), digest.data(), digest.size()) == 0;
  }
  return found;
}

}  // namespace tvllm::server
