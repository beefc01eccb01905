// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "backend/cpu/host_memory.h"
#include "backend/cpu/kernel_table.h"
#include "base/result.h"

namespace tvllm::cpu {

// K and V of all blocks of one group of layers.
//
//   layer 0                                  layer 1 ...
//   | block 0            | block 1 ...       |
//   | head 0    | head 1 |
//   | K    | V  |                            K, V: [block_size, head_dim] elements
//
// So what attention reads of one block and head is one run of memory. Pages of blocks that were
// never used are not resident. Written and read on the workers of one operation at a time.
class PagedCache final : public backend::KvCache {
 public:
  static Result<std::unique_ptr<backend::KvCache>> make(const backend::KvCacheSpec& spec);
  static std::size_t bytes_per_block(const backend::KvCacheSpec& spec);

  const backend::KvCacheSpec& spec() const override { return spec_; }
  KvLayer layer(std::int32_t idx) const;

 private:
  PagedCache(const backend::KvCacheSpec& spec, HostMemory memory)
      : spec_(spec), memory_(std::move(memory)) {}

  const backend::KvCacheSpec spec_;
  const HostMemory memory_;
};

}  // namespace tvllm::cpu
