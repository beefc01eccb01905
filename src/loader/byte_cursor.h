// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tvllm::loader {

// The one form of error about a model file: "'model.gguf': block_count at offset 0x1f40: expected
// ..., found ...". `field` is shown as it is: names from the file are quoted by the caller.
Error file_error(ErrorCode code, std::string_view path, std::string_view field,
                 std::uint64_t offset, std::string_view what);

// Reads little-endian fields from the front of a mapped file, each checked against the end before
// it is touched. Every error names the file, the field and the offset at which the field starts.
// Holds views only: the bytes and the path outlive it. Thread-compatible.
class ByteCursor {
 public:
  // Reads at most the first `max_bytes`: needing more is an error that says so.
  ByteCursor(std::span<const std::byte> bytes, std::string_view path, std::uint64_t max_bytes);

  std::uint64_t offset() const { return offset_; }
  std::string_view path() const { return path_; }
  // Bytes that can still be read.
  std::uint64_t remaining() const { return end_ - offset_; }

  Result<std::uint32_t> read_u32(std::string_view field);
  Result<std::uint64_t> read_u64(std::string_view field);
  Result<std::span<const std::byte>> take(std::uint64_t num_bytes, std::string_view field);
  // A 64-bit length and that many bytes. `max_bytes` is the limit of the length.
  Result<std::string_view> read_string(std::uint64_t max_bytes, std::string_view field);

  // About the field that starts at `at`.
  Error invalid(std::uint64_t at, std::string_view field, std::string_view what) const;
  // "the file is truncated", or the limit of metadata bytes is reached.
  Error out_of_bytes(std::uint64_t at, std::uint64_t num_bytes, std::string_view field) const;

 private:
  template <typename T>
  Result<T> read_integer(std::string_view field);

  std::span<const std::byte> bytes_;
  std::string_view path_;
  std::uint64_t end_;  // min(bytes_.size(), max_bytes)
  std::uint64_t offset_ = 0;
};

}  // namespace tvllm::loader
