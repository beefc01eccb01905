// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loader/gguf_parser.h"
#include "loader/gguf_value.h"
#include "loader/mapped_file.h"
#include "loader/weight_source.h"

namespace tvllm::loader {

// An open GGUF file, version 2 or 3: its metadata and its tensors, every field checked against the
// file, its limits (loader/gguf_limits.h) and the other fields. What a key means is not its matter:
// see gguf_config.h and gguf_tokenizer_data.h.
//
// Move-only. Everything it gives out points into the mapped file and lives as long as the GgufFile
// (moving keeps it valid). Thread-safe after construction.
class GgufFile {
 public:
  // Never throws; errors are one line that names the file, the field and the offset.
  static Result<GgufFile> open(const std::string& path);
  // The same for bytes that outlive the GgufFile; `path` is for messages.
  static Result<GgufFile> from_bytes(std::string path, std::span<const std::byte> bytes);

  const std::string& path() const { return path_; }
  std::uint64_t file_bytes() const { return bytes_.size(); }
  std::uint32_t version() const { return contents_.version; }
  std::uint64_t alignment() const { return contents_.alignment; }
  std::uint64_t data_offset() const { return contents_.data_offset; }

  std::span<const GgufEntry> entries() const { return contents_.entries; }   // in file order
  std::span<const TensorInfo> tensors() const { return contents_.tensors; }  // in file order
  // Null if there is no such key or tensor.
  const GgufValue* find(std::string_view key) const;
  const TensorInfo* find_tensor(std::string_view name) const;

  // Typed metadata. T is uint32_t, int32_t, uint64_t, float, bool, std::string_view, GgufStrings,
  // GgufArray<int32_t> or GgufArray<float>, and the file must store just that type: a number of
  // another width is an error, as it is for llama.cpp, whose writers are strict.
  template <typename T>
  Result<T> require(std::string_view key) const;
  // Nothing if the key is not there; of the wrong type it is an error all the same.
  template <typename T>
  Result<std::optional<T>> optional(std::string_view key) const;

  // "'model.gguf': 'llama.block_count' at offset 0x60: <what>", for values that are of the right
  // type and yet make no sense. A key that is not there is named without an offset.
  Error key_error(std::string_view key, std::string_view what,
                  ErrorCode code = ErrorCode::kInvalidArgument) const;
  Error tensor_error(const TensorInfo& tensor, std::string_view what) const;

  // Starts reading the tensors in the background: whoever opens a model reads all of them next.
  void prefetch_tensors() const;
  // A hint: its pages may leave memory, and come back if they are read.
  void dont_need(const TensorInfo& tensor) const;

 private:
  GgufFile(std::string path, std::span<const std::byte> bytes, GgufContents contents)
      : path_(std::move(path)), bytes_(bytes), contents_(std::move(contents)) {}

  std::string path_;
  std::optional<MappedFile> file_;  // nothing for from_bytes
  std::span<const std::byte> bytes_;
  GgufContents contents_;
};

}  // namespace tvllm::loader
