// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/engine_config.h"
#include "base/result.h"

namespace tvllm::app {

struct KvSizing {
  std::int32_t num_blocks = 0;     // usable blocks, the null block apart
  std::int32_t max_model_len = 0;  // tokens of one sequence
  bool lowered = false;            // below the model's own context, because the pool holds no more
};

// How many blocks fit the memory, which the KV groups share, and how long a sequence may then be.
// Without --max-model-len the length is the model's, or what the pool holds if that is less; one
// that was asked for and does not fit is refused with the largest that does. A pure function, so
// that it is tested without a model.
Result<KvSizing> size_kv_cache(const EngineConfig& config, std::size_t bytes_per_block,
                               std::uint64_t memory_bytes, std::int32_t model_context_len,
                               const std::vector<std::int32_t>& kv_windows = {0});

}  // namespace tvllm::app
