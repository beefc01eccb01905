// SPDX-License-Identifier: Apache-2.0
#include "bench/step_report.h"

#include <functional>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/strings.h"
#include "bench/statistics.h"

namespace tvllm::bench {

namespace {

constexpr std::size_t kLabelWidth = 28;
constexpr std::size_t kNumberWidth = 14;

using Cell = std::function<std::string(const StepGroup&)>;

std::string padded_left(std::string_view text, std::size_t width) {
  return str_cat(std::string(width > text.size() ? width - text.size() : 0, ' '), text);
}

std::string row(std::string_view label, std::string_view first, std::string_view second) {
  const std::string gap(kLabelWidth > label.size() ? kLabelWidth - label.size() : 1, ' ');
  return str_cat(label, gap, padded_left(first, kNumberWidth), padded_left(second, kNumberWidth),
                 "\n");
}

std::string milliseconds(double seconds) {
  return fixed(1e3 * seconds, 3);
}

}  // namespace

std::string step_table(const StepGroup& prefill, const StepGroup& decode) {
  std::string out = row("Steps", "with prompt", "decode only");
  const auto add = [&](std::string_view label, const Cell& cell) {
    const auto text = [&](const StepGroup& group) {
      return group.num_steps == 0 ? std::string("-") : cell(group);
    };
    out += row(label, text(prefill), text(decode));
  };
  const auto per_step = [](const StepGroup& group, double amount) {
    return amount / static_cast<double>(group.num_steps);
  };
  add("  number", [](const StepGroup& group) { return str_cat(group.num_steps); });
  add("  sequences a step", [&](const StepGroup& group) {
    return fixed(per_step(group, static_cast<double>(group.num_sequences)), 1);
  });
  add("  prompt tokens/s",
      [](const StepGroup& group) { return fixed(group.prefill_tokens_per_second(), 1); });
  add("  output tokens/s",
      [](const StepGroup& group) { return fixed(group.decode_tokens_per_second(), 1); });
  add("  median step, ms",
      [](const StepGroup& group) { return milliseconds(percentile(group.step_seconds, 50.0)); });
  add("  mean step, ms",
      [&](const StepGroup& group) { return milliseconds(per_step(group, group.seconds())); });
  for (std::size_t phase = 0; phase < kStepPhases.size(); ++phase) {
    add(str_cat("    ", kStepPhases[phase]), [&, phase](const StepGroup& group) {
      return milliseconds(per_step(group, group.phase_seconds[phase]));
    });
  }
  return out;
}

boost::json::object step_json(const StepGroup& group) {
  boost::json::object phases;
  for (std::size_t phase = 0; phase < kStepPhases.size(); ++phase)
    phases[kStepPhases[phase]] = group.phase_seconds[phase];
  return {{"num_steps", group.num_steps},
          {"num_prefill_tokens", group.num_prefill_tokens},
          {"num_decode_tokens", group.num_decode_tokens},
          {"prefill_tokens_per_second", group.prefill_tokens_per_second()},
          {"decode_tokens_per_second", group.decode_tokens_per_second()},
          {"median_step_seconds", percentile(group.step_seconds, 50.0)},
          {"phase_seconds", std::move(phases)}};
}

}  // namespace tvllm::bench
