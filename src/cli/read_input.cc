// SPDX-License-Identifier: Apache-2.0
#include "cli/read_input.h"

#include <array>
#include <cstdio>

#include "base/strings.h"

namespace tvllm::cli {

Result<std::string> read_input(const std::string& argument) {
  if (argument != "-") return argument;
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  std::string text;
  std::array<char, 65536> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
    if (text.size() + count > kMaxBytes) {
      return make_error(ErrorCode::kTooLarge,
                        str_cat("standard input holds more than ", human_bytes(kMaxBytes)));
    }
    text.append(buffer.data(), count);
  }
  if (std::ferror(stdin) != 0) return make_error(ErrorCode::kIo, "cannot read standard input");
  return text;
}

}  // namespace tvllm::cli
