// SPDX-License-Identifier: Apache-2.0
// What a template may cost. Templates come from model files and conversations from strangers, so
// both are bounded before they are trusted with time, memory or stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tvllm::chat_template {

struct ParseLimits {
  std::size_t max_source_bytes = 256 * 1024;
  // Brackets within brackets, blocks within blocks, links of one chain a.b.c|d.
  int max_nesting = 100;
};

struct RenderLimits {
  // One step is one evaluated expression, statement, loop turn, four list items or 128 bytes of
  // text, read or written. Bounds time, and with it memory: about 100 MiB at the default.
  std::uint64_t max_steps = 500'000;
  // Of the rendered text, and of each text on the way.
  std::size_t max_output_bytes = std::size_t{4} * 1024 * 1024;
  // Of evaluation within evaluation, which macros can drive up: bounds the stack.
  int max_depth = 400;
};

// Lists in lists, given or built.
inline constexpr int kMaxValueDepth = 128;

// Jinja's sandbox allows no longer range().
inline constexpr std::int64_t kMaxRangeItems = 100'000;

}  // namespace tvllm::chat_template
