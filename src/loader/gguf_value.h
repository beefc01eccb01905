// SPDX-License-Identifier: Apache-2.0
// Metadata values of a GGUF file, as views of the mapped bytes: a vocabulary of 262,144 strings
// costs nothing until somebody walks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

namespace tvllm::loader {

// The numbers are those of the file.
enum class GgufType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr std::uint32_t kNumGgufTypes = 13;

std::string_view gguf_type_name(GgufType type);  // "uint32"
// Bytes of one value; 0 for strings and arrays, whose length varies.
std::size_t gguf_type_bytes(GgufType type);

// Numbers of one type, not aligned. T is the C++ type of the array's element type; bool is stored
// in one byte.
template <typename T>
class GgufArray {
 public:
  GgufArray() = default;
  explicit GgufArray(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size() / sizeof(T); }
  // REQUIRES: i < size()
  T operator[](std::size_t i) const {
    T value{};
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

// Strings, each with its length in front. Walked from the front only:
//   for (std::string_view token : strings)
class GgufStrings {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator(std::span<const std::byte> rest, std::uint64_t index) : rest_(rest), index_(index) {}
    std::string_view operator*() const;
    Iterator& operator++();
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

   private:
    std::span<const std::byte> rest_;  // from this string's length on
    std::uint64_t index_;
  };

  GgufStrings() = default;
  GgufStrings(std::span<const std::byte> bytes, std::uint64_t count)
      : bytes_(bytes), count_(count) {}
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  Iterator begin() const { return {bytes_, 0}; }
  Iterator end() const { return {{}, count_}; }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t count_ = 0;
};

// One checked value. `bytes` are the scalar, the characters of a string, or the elements.
struct GgufValue {
  GgufType type = GgufType::kUint8;
  GgufType element_type = GgufType::kUint8;  // of an array
  std::uint64_t count = 1;                   // elements of an array
  std::span<const std::byte> bytes;
  std::uint64_t file_offset = 0;  // of the value, after its type: for messages

  bool is_array_of(GgufType element) const {
    return type == GgufType::kArray && element_type == element;
  }
  // REQUIRES: T is the C++ type of `type`
  template <typename T>
  T scalar() const {
    return GgufArray<T>(bytes)[0];
  }
  std::string_view string() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  GgufStrings strings() const { return {bytes, count}; }
};

}  // namespace tvllm::loader
