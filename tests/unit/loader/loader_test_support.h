// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loader/gguf.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/tiny_llama.h"

namespace tvllm::loader {

using tvllm::testing::as_byte_span;
using tvllm::testing::ByteWriter;
using tvllm::testing::GgufBuilder;
using tvllm::testing::tiny_llama;

inline constexpr std::string_view kTestPath = "model.gguf";

inline Result<GgufFile> parse(std::string_view bytes) {
  return GgufFile::from_bytes(std::string(kTestPath), as_byte_span(bytes));
}

// The error of a file that must not open; an empty message if it does.
inline Error refusal(std::string_view bytes) {
  const Result<GgufFile> file = parse(bytes);
  return file ? Error{} : file.error();
}

// One line that names the file and holds every part.
inline void expect_refusal(const Error& error, const std::vector<std::string_view>& parts) {
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  EXPECT_THAT(error.message, ::testing::StartsWith("'model.gguf': "));
  for (const std::string_view part : parts)
    EXPECT_THAT(error.message, ::testing::HasSubstr(std::string(part)));
}

}  // namespace tvllm::loader
