// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler_options.h"

#include <algorithm>
#include <cstdint>

#include "base/strings.h"

namespace tvllm::scheduler {

namespace {

template <typename T>
Error bad_option(const char* option, const char* expected, T got) {
  return invalid_argument(str_cat(option, " must be ", expected, ", got ", got), option);
}

bool is_power_of_two(std::int32_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

Status check_budget(const SchedulerOptions& o) {
  if (o.max_num_batched_tokens < o.max_num_seqs) {
    return invalid_argument(str_cat("max_num_batched_tokens (", o.max_num_batched_tokens,
                                    ") must be at least max_num_seqs (", o.max_num_seqs,
                                    "): every running sequence needs a token in each step"),
                            "max_num_batched_tokens");
  }
  if (!o.enable_chunked_prefill && o.max_num_batched_tokens < o.max_model_len) {
    return invalid_argument(str_cat("max_num_batched_tokens (", o.max_num_batched_tokens,
                                    ") must be at least max_model_len (", o.max_model_len,
                                    ") when chunked prefill is off"),
                            "max_num_batched_tokens");
  }
  return {};
}

}  // namespace

Status check_scheduler_options(const SchedulerOptions& options) {
  const SchedulerOptions& o = options;
  if (o.max_num_seqs < 1) return bad_option("max_num_seqs", "at least 1", o.max_num_seqs);
  if (o.max_model_len < 2) {
    return bad_option("max_model_len", "at least 2 (a prompt token and an output token)",
                      o.max_model_len);
  }
  if (o.num_kv_groups < 1) return bad_option("num_kv_groups", "at least 1", o.num_kv_groups);
  if (!o.kv_windows.empty() &&
      (o.kv_windows.size() != static_cast<std::size_t>(o.num_kv_groups) || o.kv_windows[0] != 0 ||
       *std::min_element(o.kv_windows.begin(), o.kv_windows.end()) < 0)) {
    return bad_option("kv_windows", "none or one for each KV group, the first 0",
                      o.kv_windows.size());
  }
  if (!is_power_of_two(o.block_size) || o.block_size < 4 || o.block_size > 128) {
    return bad_option("block_size", "a power of two from 4 to 128", o.block_size);
  }
  if (o.num_blocks < o.num_kv_groups) {
    return bad_option("num_blocks", "at least one for each KV group", o.num_blocks);
  }
  if (!(o.watermark >= 0.0f && o.watermark < 1.0f)) {
    return bad_option("watermark", "in [0, 1)", o.watermark);
  }
  return check_budget(o);
}

}  // namespace tvllm::scheduler
