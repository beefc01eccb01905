// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tvllm {

enum class SchedulingPolicy { kFcfs, kPriority };

// What the scheduler and the KV cache manager need to know, settled before the engine starts.
struct SchedulerOptions {
  std::int32_t max_num_seqs = 256;            // sequences in one step
  std::int32_t max_num_batched_tokens = 512;  // token budget of one step
  std::int32_t max_model_len = 0;             // prompt and output tokens of one sequence
  std::int32_t num_kv_groups = 1;
  // Positions that the layers of a group see, 0: all; the first group sees all. Empty: all do.
  std::vector<std::int32_t> kv_windows = {};
  std::int32_t block_size = 16;  // tokens, a power of two from 4 to 128
  std::int32_t num_blocks = 0;   // usable blocks, the null block apart
  float watermark = 0.01f;       // share of blocks kept free when admitting
  bool enable_chunked_prefill = true;
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;

  bool enable_prefix_caching = true;  // share full blocks of equal beginnings
  // What K and V depend on beside the tokens: weights, their types, the type of K and V.
  std::string model_fingerprint = {};
  // For tests: block hashes that are the same in each run. Nothing: from a secret drawn at start.
  std::optional<std::uint64_t> prefix_hash_seed = {};
};

}  // namespace tvllm
