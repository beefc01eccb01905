// SPDX-License-Identifier: Apache-2.0
// What a GGUF file may ask for at most. A file is refused with the limit's number before anything
// is allocated or walked for it. The largest ordinary files (262,144 tokens, 580,000 merges,
// 1,000 tensors) have 20 MiB of metadata, so every limit leaves a factor of four or more.
#pragma once

#include <cstdint>

namespace tvllm::loader {

inline constexpr std::uint64_t kMaxMetadataBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxMetadataEntries = 65536;
inline constexpr std::uint64_t kMaxTensors = 65536;
inline constexpr std::uint64_t kMaxKeyBytes = 65535;      // the format's own limit
inline constexpr std::uint64_t kMaxTensorNameBytes = 64;  // the format's own limit
inline constexpr std::uint64_t kMaxStringBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaxArrayElements = std::uint64_t{1} << 22;
// Arrays of arrays are in the format's description and in no file of a model: they are refused, so
// there is no limit of nesting.

inline constexpr std::uint32_t kMaxTensorDims = 4;
inline constexpr std::uint64_t kMaxTensorDim = 0x7fffffff;  // indices of rows and columns are int32

inline constexpr std::uint64_t kDefaultAlignment = 32;
inline constexpr std::uint64_t kMinAlignment = 8;      // the format asks for a multiple of 8
inline constexpr std::uint64_t kMaxAlignment = 65536;  // the largest page of a supported machine

// Of a vocabulary; each entry becomes a std::string, four times what the file needs for it.
inline constexpr std::uint32_t kMaxTokens = 1 << 20;
inline constexpr std::uint32_t kMaxMerges = 1 << 21;

}  // namespace tvllm::loader
