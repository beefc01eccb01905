// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include <chrono>
#include <cstdio>
#include <string>

#include "base/strings.h"
#include "cli/report.h"

namespace tvllm::cli {

namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::chrono::milliseconds kInterval(100);

std::string minutes(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  return str_cat(whole / 60, ":", whole % 60 < 10 ? "0" : "", whole % 60);
}

}  // namespace

ProgressBar::ProgressBar(bool is_wanted) : is_shown_(is_wanted && stderr_is_terminal()) {}

ProgressBar::~ProgressBar() {
  if (has_open_line_) std::fputc('\n', stderr);
}

void ProgressBar::show(std::int64_t num_done, std::int64_t num_total, std::string_view what) {
  if (!is_shown_ || num_total <= 0) return;
  const TimePoint now = steady_clock().now();
  if (!has_open_line_) start_ = now;
  const bool is_end = num_done >= num_total;
  if (has_open_line_ && !is_end && now - drawn_ < kInterval) return;
  drawn_ = now;
  has_open_line_ = !is_end;

  const double share = static_cast<double>(num_done) / static_cast<double>(num_total);
  const auto num_filled = static_cast<std::size_t>(share * kBarWidth);
  std::string line =
      str_cat("\r", what, ": [", std::string(num_filled, '#'),
              std::string(kBarWidth - num_filled, '.'), "] ", num_done, " of ", num_total);
  const double elapsed = to_seconds(now - start_);
  if (!is_end && num_done > 1) {
    str_append(line, ", ", minutes(elapsed * (1.0 - share) / share), " left");
  }
  // What stood there may have been longer.
  str_append(line, "        ", is_end ? "\n" : "");
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace tvllm::cli
