// SPDX-License-Identifier: Apache-2.0
// The bytes of a GGUF file to its checked contents. For GgufFile alone (loader/gguf.h).
//
//   offset 0   magic "GGUF", version, tensor count, metadata count      24 bytes
//              metadata: key, type, value                               one after another
//              tensor infos: name, dims, type, offset in the data       one after another
//              padding to a multiple of general.alignment
//   data       the tensors, each at a multiple of general.alignment
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loader/byte_cursor.h"
#include "loader/gguf_value.h"
#include "loader/name_index.h"
#include "loader/weight_source.h"

namespace tvllm::loader {

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

// Every view points into the parsed bytes. Invariants: (1) keys are distinct, so are tensor names;
// (2) a tensor's data lies inside the file, at a multiple of `alignment`, has exactly the bytes of
// its shape and type, and shares none with another tensor.
struct GgufContents {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;
  std::uint64_t data_offset = 0;  // where the tensors begin
  std::vector<GgufEntry> entries;
  NameIndex entry_index;
  std::vector<TensorInfo> tensors;
  NameIndex tensor_index;
};

// `path` is for messages.
Result<GgufContents> parse_gguf(std::string_view path, std::span<const std::byte> bytes);

// Reads `num_tensors` tensor infos at the cursor, then finds and checks each tensor's data. Part of
// parse_gguf: `contents.alignment` is set.
Status read_tensors(ByteCursor& cursor, std::span<const std::byte> bytes, std::uint64_t num_tensors,
                    GgufContents& contents);

}  // namespace tvllm::loader
