// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace tvllm::cli {

// One line on a terminal's standard error that follows something long; nothing where nobody looks.
class ProgressBar {
 public:
  explicit ProgressBar(bool is_wanted = true);
  // Ends the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // "Bench iterations: 12 of 30, 0:25 left". Drawn at most ten times a second, and when a part
  // ends.
  void show(std::int64_t num_done, std::int64_t num_total, std::string_view what);

 private:
  const bool is_shown_;
  bool has_open_line_ = false;
  TimePoint start_ = {};  // of the part that is shown
  TimePoint drawn_ = {};
};

}  // namespace tvllm::cli
