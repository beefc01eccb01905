// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tvllm::server {

// The keys that open the guarded paths. Only their SHA-256 digests are kept; a key that comes in is
// compared with every one of them in constant time, so that the time of an answer tells nothing.
// Immutable, thread-safe.
class ApiKeys {
 public:
  explicit ApiKeys(const std::vector<std::string>& keys);

  // Without keys everything is open.
  bool empty() const { return digests_.empty(); }

  // `authorization` is the header's value: "Bearer KEY".
  bool accepts(std::string_view authorization) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest_of(std::string_view key);

  std::vector<Digest> digests_;
};

}  // namespace tvllm::server
