// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tvllm::app {

// What the command line says about the engine; names and defaults are those of `vllm serve`, where
// docs/compatibility.md does not list another.
struct EngineConfig {
  std::string model_path = {};

  std::string cpu_isa = "auto";
  std::int32_t num_threads = 0;  // 0: default_num_threads()
  std::string kv_cache_dtype = "auto";
  std::optional<std::uint64_t> kv_cache_memory_bytes = {};
  std::optional<std::int32_t> num_blocks_override = {};  // --num-gpu-blocks-override
  std::int32_t block_size = 16;

  std::optional<std::int32_t> max_model_len = {};
  std::int32_t max_num_seqs = 256;
  std::int32_t max_num_batched_tokens = 512;
  bool enable_chunked_prefill = true;
  std::string scheduling_policy = "fcfs";
  std::string target_step_ms = "auto";
  bool enable_prefix_caching = true;
  std::int32_t max_queued_requests = 4096;  // beyond max_num_seqs

  // Memory for the last trace events; 0: nothing is traced. The serve verb has a default of its
  // own.
  std::uint64_t trace_buffer_bytes = 0;

  // Called from the loading thread: layers done, layers in all.
  std::function<void(std::int32_t, std::int32_t)> on_load_progress = {};
  // Called once, on the engine thread, when a step failed for good.
  std::function<void()> on_failure = {};
};

}  // namespace tvllm::app
