// SPDX-License-Identifier: Apache-2.0
// The account of one render: every loop, copy and scan is paid for before it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "chat_template/limits.h"
#include "chat_template/text.h"

namespace tvllm::chat_template {

// Owned by one render, on its thread.
class Budget {
 public:
  explicit Budget(const RenderLimits& limits) : limits_(limits) {}

  const RenderLimits& limits() const { return limits_; }

  Status spend(std::uint64_t num_steps);
  // Reading or writing that much text.
  Status spend_bytes(std::size_t num_bytes);
  // Making a list of that many.
  Status spend_items(std::size_t num_items) { return spend(num_items / 4 + 1); }
  // Before a text of this size is made; pays for it too.
  Status spend_text(std::uint64_t num_bytes);

 private:
  RenderLimits limits_;
  std::uint64_t steps_ = 0;
  std::uint64_t bytes_ = 0;
};

// A text under construction, each piece of it paid for.
class TextSink {
 public:
  TextSink(Budget& budget, Text& out) : budget_(&budget), out_(&out) {}

  Budget& budget() { return *budget_; }

  Status append(const Text& text) { return append(text, 0, text.size()); }
  Status append(const Text& text, std::size_t begin, std::size_t end);
  Status append_own(std::string_view bytes);
  Status append_made_from(std::string_view bytes, const Text& text, std::size_t begin,
                          std::size_t end);

 private:
  Status pay(std::size_t num_bytes);

  Budget* budget_;  // both outlive the sink
  Text* out_;
};

}  // namespace tvllm::chat_template
