// SPDX-License-Identifier: Apache-2.0
#include "loader/foreign_format.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace tvllm::loader {

namespace {

struct Signature {
  std::string_view prefix;
  std::string_view description;
};

constexpr std::string_view kOldGgml =
    "a GGML file from before GGUF: convert the model again with a current tool";
constexpr std::string_view kHtml = "an HTML page, not a model: the download failed";

constexpr std::array<Signature, 15> kSignatures = {{
    {"version https://git-lfs", "a Git LFS pointer, not the model itself: run 'git lfs pull'"},
    {"PK\x03\x04", "a zip archive, as PyTorch checkpoints are: convert the model to GGUF"},
    {"\x80\x02", "a Python pickle, as PyTorch checkpoints are: convert the model to GGUF"},
    {"GGML", kOldGgml},
    {"lmgg", kOldGgml},
    {"fmgg", kOldGgml},
    {"tjgg", kOldGgml},
    {"algg", kOldGgml},
    {"<!DOCTYPE", kHtml},
    {"<!doctype", kHtml},
    {"<html", kHtml},
    {"\x1f\x8b", "a gzip archive: unpack it first"},
    {"\x28\xb5\x2f\xfd", "a zstd archive: unpack it first"},
    {"\x89HDF", "an HDF5 file: convert the model to GGUF"},
    {"{", "a JSON text, not the weights of a model"},
}};

// A 64-bit length of a JSON header, then the header.
bool is_safetensors(std::string_view text) {
  constexpr std::size_t kLengthBytes = 8;
  constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // safetensors' own limit
  if (text.size() <= kLengthBytes || text[kLengthBytes] != '{') return false;
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, text.data(), kLengthBytes);
  return header_bytes >= 2 && header_bytes <= kMaxHeaderBytes;
}

}  // namespace

std::string_view describe_foreign_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_safetensors(text)) return "a safetensors file: convert the model to GGUF";
  for (const Signature& signature : kSignatures) {
    if (text.starts_with(signature.prefix)) return signature.description;
  }
  return {};
}

}  // namespace tvllm::loader
