// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace tvllm::sampling {

// How often each token stands in a sequence: one entry per distinct token, in order of first
// appearance, found through an open-addressing index. A dense array of counts would cost every
// penalized sequence a megabyte at 262,144 entries. Thread-compatible.
class TokenCounts {
 public:
  struct Entry {
    TokenId id = kNoToken;
    std::int32_t num_output = 0;  // among the generated tokens; 0 = in the prompt only
  };

  // Forgets all and makes room: no more than `max_distinct` different tokens then allocate nothing.
  void reset(std::size_t max_distinct);
  void add_prompt(TokenId id) { entry_of(id); }
  void add_output(TokenId id) { ++entry_of(id).num_output; }

  std::span<const Entry> entries() const { return entries_; }

 private:
  Entry& entry_of(TokenId id);
  std::int32_t* find_slot(TokenId id);
  void rebuild_index(std::size_t max_distinct);

  static constexpr std::int32_t kEmpty = -1;
  std::vector<Entry> entries_;
  // Indices into entries_, size a power of two and at least twice theirs.
  std::vector<std::int32_t> index_;
};

// vLLM's penalties on the logit of one token that has appeared
// (vllm/model_executor/layers/utils.py, apply_penalties): repetition counts prompt and output and
// divides a positive logit, multiplies a negative one; frequency (per occurrence) and presence
// (once) are subtracted and count the output alone.
struct Penalties {
  float repetition = 1.0f;
  float frequency = 0.0f;
  float presence = 0.0f;

  bool any() const { return repetition != 1.0f || frequency != 0.0f || presence != 0.0f; }
};
float penalized(float logit, std::int32_t num_output, const Penalties& penalties);

}  // namespace tvllm::sampling
