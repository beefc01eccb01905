// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_value.h"

#include <algorithm>
#include <array>

namespace tvllm::loader {

namespace {

struct TypeRow {
  std::string_view name;
  std::size_t num_bytes;
};

// In the order of the enumeration.
constexpr std::array<TypeRow, kNumGgufTypes> kTypes = {{
    {"uint8", 1},
    {"int8", 1},
    {"uint16", 2},
    {"int16", 2},
    {"uint32", 4},
    {"int32", 4},
    {"float32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"uint64", 8},
    {"int64", 8},
    {"float64", 8},
}};

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);

// Lengths were checked when the file was opened. They are clamped all the same, because another
// process may have written to the mapped file since.
std::size_t front_length(std::span<const std::byte> rest) {
  if (rest.size() < kLengthBytes) return 0;
  std::uint64_t num_bytes = 0;
  std::memcpy(&num_bytes, rest.data(), kLengthBytes);
  return static_cast<std::size_t>(std::min<std::uint64_t>(num_bytes, rest.size() - kLengthBytes));
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::size_t gguf_type_bytes(GgufType type) {
  return kTypes[static_cast<std::size_t>(type)].num_bytes;
}

std::string_view GgufStrings::Iterator::operator*() const {
  const std::size_t num_bytes = front_length(rest_);
  if (num_bytes == 0) return {};
  return {reinterpret_cast<const char*>(rest_.data()) + kLengthBytes, num_bytes};
}

GgufStrings::Iterator& GgufStrings::Iterator::operator++() {
  rest_ = rest_.subspan(std::min(rest_.size(), kLengthBytes + front_length(rest_)));
  ++index_;
  return *this;
}

}  // namespace tvllm::loader
