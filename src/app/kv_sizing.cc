// SPDX-License-Identifier: Apache-2.0
#include "app/kv_sizing.h"

#include <algorithm>
#include <limits>

#include "base/strings.h"
#include "kv_cache/group_layout.h"
#include "scheduler/scheduler_options.h"

namespace tvllm::app {

namespace {

// Slots are block * block_size + offset and block ids are 32 bits wide; a pool this large does not
// exist on a machine that this engine runs on.
constexpr std::int64_t kMaxBlocks = std::numeric_limits<std::int32_t>::max() / 256;

Result<std::int32_t> count_blocks(const EngineConfig& config, std::size_t bytes_per_block,
                                  std::uint64_t memory_bytes, std::int32_t num_groups) {
  if (config.num_blocks_override) {
    if (*config.num_blocks_override < num_groups || *config.num_blocks_override > kMaxBlocks) {
      return invalid_argument(str_cat("--num-gpu-blocks-override must be in [", num_groups, ", ",
                                      kMaxBlocks, "], got ", *config.num_blocks_override),
                              "num-gpu-blocks-override");
    }
    return *config.num_blocks_override;
  }
  const std::uint64_t fitting = memory_bytes / bytes_per_block;
  const std::uint64_t needed = 1 + static_cast<std::uint64_t>(num_groups);  // with the null block
  if (fitting < needed) {
    return invalid_argument(
        str_cat("--kv-cache-memory-bytes: ", human_bytes(memory_bytes), " hold ", fitting,
                " blocks of ", human_bytes(bytes_per_block), "; at least ", needed, " are needed (",
                needed * bytes_per_block, " bytes)"),
        "kv-cache-memory-bytes");
  }
  return static_cast<std::int32_t>(
      std::min<std::uint64_t>(fitting - 1, static_cast<std::uint64_t>(kMaxBlocks)));
}

}  // namespace

Result<KvSizing> size_kv_cache(const EngineConfig& config, std::size_t bytes_per_block,
                               std::uint64_t memory_bytes, std::int32_t model_context_len,
                               const std::vector<std::int32_t>& kv_windows) {
  const kv_cache::GroupLayout layout{
      .num_groups = static_cast<std::int32_t>(kv_windows.size()),
      .windows = kv_windows,
      .block_size = config.block_size,
      .max_tokens_in_flight = scheduler::max_tokens_in_flight(config.max_num_batched_tokens)};
  KvSizing sizing;
  TVLLM_TRY(sizing.num_blocks,
            count_blocks(config, bytes_per_block, memory_bytes, layout.num_groups));
  const std::int64_t pool_tokens = layout.max_num_tokens(sizing.num_blocks);
  if (!config.max_model_len) {
    sizing.max_model_len =
        static_cast<std::int32_t>(std::min<std::int64_t>(model_context_len, pool_tokens));
    sizing.lowered = sizing.max_model_len < model_context_len;
    return sizing;
  }
  sizing.max_model_len = *config.max_model_len;
  if (sizing.max_model_len < 2 || sizing.max_model_len > model_context_len) {
    return invalid_argument(str_cat("--max-model-len must be in [2, ", model_context_len,
                                    "], the context of the model; got ", sizing.max_model_len),
                            "max-model-len");
  }
  if (sizing.max_model_len > pool_tokens) {
    return invalid_argument(
        str_cat("--max-model-len ", sizing.max_model_len, " does not fit the KV cache of ",
                sizing.num_blocks, " blocks of ", config.block_size,
                " tokens; the largest that fits is ", pool_tokens,
                " (or give more with --kv-cache-memory-bytes)"),
        "max-model-len");
  }
  return sizing;
}

}  // namespace tvllm::app
