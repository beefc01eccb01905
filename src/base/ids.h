// SPDX-License-Identifier: Apache-2.0
// Strong ids for what is easily mixed. A TokenId is a plain integer, because token ids live in long
// arrays that come from JSON and go to kernels as they are; the others index tables of the engine.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tvllm {

// An index into the vocabulary, 0 .. vocab_size - 1.
using TokenId = std::int32_t;
inline constexpr TokenId kNoToken = -1;

template <typename Tag, typename Rep>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  Rep value_ = 0;
};

// A block of `block_size` token positions of K and V in all layers of one KV group.
using BlockId = StrongId<struct BlockIdTag, std::int32_t>;
inline constexpr BlockId kNullBlock{0};  // never written, never freed; stands for "no block"

// One sequence in the engine; never reused while the process lives.
using SeqId = StrongId<struct SeqIdTag, std::uint64_t>;

// Where the executor keeps what a running sequence needs between steps, 0 .. max_num_seqs - 1;
// reused.
using StateSlot = StrongId<struct StateSlotTag, std::int32_t>;

}  // namespace tvllm

template <typename Tag, typename Rep>
struct std::hash<tvllm::StrongId<Tag, Rep>> {
  std::size_t operator()(tvllm::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
