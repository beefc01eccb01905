// SPDX-License-Identifier: Apache-2.0
// Element types of tensors: plain floats, and the block formats of GGUF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tvllm {

enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
};

// A row of a quantized tensor is a whole number of blocks; a plain type is a block of one element.
struct DTypeInfo {
  std::string_view name;   // "Q4_1"
  std::int64_t block_len;  // elements in one block
  std::int64_t block_bytes;
};

const DTypeInfo& dtype_info(DType dtype);

inline bool is_quantized(DType dtype) {
  return dtype_info(dtype).block_len > 1;
}

// Bytes of a row of `num_elements`. REQUIRES: a multiple of block_len.
inline std::int64_t row_bytes(DType dtype, std::int64_t num_elements) {
  const DTypeInfo& info = dtype_info(dtype);
  return num_elements / info.block_len * info.block_bytes;
}

}  // namespace tvllm
