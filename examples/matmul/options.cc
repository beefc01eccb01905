// SPDX-License-Identifier: Apache-2.0
#include "examples/matmul/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/strings.h"

namespace tvllm::examples {

const char* const kMatmulUsage =
    "matmul: multiplies two matrices with every rung of the ladder (docs/matmul-ladder.md)\n"
    "\n"
    "  --shape M,N,K   rows, columns, depth, each 1 .. 32768 (default 4096,4096,4096; emulated "
    "256,256,256)\n"
    "  --type TYPE     f32 or bf16 (default f32)\n"
    "  --rung NAME     this rung alone\n"
    "  --repeat COUNT  timed runs a rung, 1 .. 1000 (default 10); the median is shown\n";

namespace {

constexpr int kMaxSide = 32768;

std::optional<int> parse_count(std::string_view text, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > max) {
    return std::nullopt;
  }
  return value;
}

std::optional<MatmulShape> parse_shape(std::string_view text) {
  const std::size_t first = text.find(',');
  const std::size_t second = text.rfind(',');
  if (first == std::string_view::npos || first == second) return std::nullopt;
  const auto m = parse_count(text.substr(0, first), kMaxSide);
  const auto n = parse_count(text.substr(first + 1, second - first - 1), kMaxSide);
  const auto k = parse_count(text.substr(second + 1), kMaxSide);
  if (!m || !n || !k) return std::nullopt;
  return MatmulShape{.m = *m, .n = *n, .k = *k};
}

bool is_rung(std::string_view name) {
  const std::span<const Rung> rungs = matmul_rungs();
  return std::any_of(rungs.begin(), rungs.end(),
                     [&](const Rung& rung) { return name == rung.name; });
}

std::string rung_names() {
  std::string names;
  for (const Rung& rung : matmul_rungs())
    str_append(names, names.empty() ? "" : ", ", rung.name);
  return names;
}

}  // namespace

Result<MatmulOptions> parse_matmul_options(std::span<const char* const> arguments) {
  MatmulOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      options.wants_help = true;
      continue;
    }
    const bool is_known =
        name == "--shape" || name == "--type" || name == "--rung" || name == "--repeat";
    if (!is_known) return invalid_argument(str_cat("matmul: unknown option '", name, "'"));
    if (++i == arguments.size())
      return invalid_argument(str_cat("matmul: ", name, " needs a value"));
    const std::string_view value = arguments[i];
    const auto refuse = [&](std::string_view expected) {
      return invalid_argument(str_cat("matmul: ", name, " ", value, ": expected ", expected));
    };
    if (name == "--shape") {
      options.shape = parse_shape(value);
      if (!options.shape) return refuse("three numbers from 1 to 32768, as in 4096,4096,4096");
    } else if (name == "--type") {
      if (value != "f32" && value != "bf16") return refuse("f32 or bf16");
      options.is_bf16 = value == "bf16";
    } else if (name == "--rung") {
      if (!is_rung(value)) return refuse(str_cat("one of ", rung_names()));
      options.rung = value;
    } else {
      const auto repeat = parse_count(value, 1000);
      if (!repeat) return refuse("a number from 1 to 1000");
      options.repeat = *repeat;
    }
  }
  return options;
}

}  // namespace tvllm::examples
