// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include <CLI/CLI.hpp>

#include "base/strings.h"

namespace tvllm::cli {

// Help for people: "--max-num-seqs N    Sequences in one step (1 to 65536) [256]", wrapped at 100
// columns. What a value must be stands in parentheses, the default in brackets.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(30); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

// CLI::Range with a description that HelpFormatter shows: "1 to 65536", "at least 1".
template <typename T>
CLI::Validator in_range(T low, T high) {
  CLI::Validator validator = CLI::Range(low, high);
  validator.description(high == std::numeric_limits<T>::max() ? str_cat("at least ", low)
                                                              : str_cat(low, " to ", high));
  return validator;
}

}  // namespace tvllm::cli
