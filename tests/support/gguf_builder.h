// SPDX-License-Identifier: Apache-2.0
// Builds GGUF files in memory, right ones and wrong ones. Header-only.
//
//   const std::string file = GgufBuilder()
//                                .str("general.architecture", "llama")
//                                .u32("llama.block_count", 2)
//                                .tensor({.name = "output_norm.weight", .shape = {8}})
//                                .build();
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvllm::testing {

// Numbers of GGUF value types and of GGML tensor types, written out here so that a test does not
// lean on the loader's own tables.
enum GgufTypeId : std::uint32_t {
  kGgufUint8 = 0,
  kGgufUint32 = 4,
  kGgufInt32 = 5,
  kGgufFloat32 = 6,
  kGgufBool = 7,
  kGgufString = 8,
  kGgufArray = 9,
  kGgufUint64 = 10,
};
enum GgmlTypeId : std::uint32_t {
  kGgmlF32 = 0,
  kGgmlF16 = 1,
  kGgmlQ4_1 = 3,
  kGgmlQ8_0 = 8,
};

// Little-endian bytes, one field after another.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& number(T value) {
    static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
    return *this;
  }
  ByteWriter& u32(std::uint32_t value) { return number(value); }
  ByteWriter& u64(std::uint64_t value) { return number(value); }
  ByteWriter& raw(std::string_view bytes) {
    bytes_.append(bytes);
    return *this;
  }
  ByteWriter& str(std::string_view text) { return u64(text.size()).raw(text); }
  ByteWriter& pad_to(std::uint64_t alignment) {
    while (bytes_.size() % alignment != 0)
      bytes_.push_back('\0');
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct TensorSpec {
  std::string name = {};
  std::uint32_t type = kGgmlF32;
  std::vector<std::uint64_t> shape = {};     // outermost first, as NumPy; the file has it reversed
  std::string data = {};                     // F32 zeros of the shape if empty
  std::optional<std::uint64_t> offset = {};  // in the data; after the tensor before if not given
};

class GgufBuilder {
 public:
  GgufBuilder& version(std::uint32_t version) {
    version_ = version;
    return *this;
  }
  // Writes general.alignment too.
  GgufBuilder& alignment(std::uint32_t alignment) {
    alignment_ = alignment;
    return u32("general.alignment", alignment);
  }

  // Replaces an entry of the same key, so that a test can spoil one of a good file.
  GgufBuilder& entry(const std::string& key, std::uint32_t type, std::string bytes) {
    erase(key);
    return extra_entry(key, type, std::move(bytes));
  }
  // Keeps an entry of the same key.
  GgufBuilder& extra_entry(const std::string& key, std::uint32_t type, std::string bytes) {
    entries_.emplace_back(key, ByteWriter().str(key).u32(type).raw(bytes).bytes());
    return *this;
  }
  GgufBuilder& erase(const std::string& key) {
    std::erase_if(entries_, [&](const auto& e) { return e.first == key; });
    return *this;
  }

  GgufBuilder& u32(const std::string& key, std::uint32_t value) {
    return entry(key, kGgufUint32, ByteWriter().u32(value).bytes());
  }
  GgufBuilder& u64(const std::string& key, std::uint64_t value) {
    return entry(key, kGgufUint64, ByteWriter().u64(value).bytes());
  }
  GgufBuilder& i32(const std::string& key, std::int32_t value) {
    return entry(key, kGgufInt32, ByteWriter().number(value).bytes());
  }
  GgufBuilder& f32(const std::string& key, float value) {
    return entry(key, kGgufFloat32, ByteWriter().number(value).bytes());
  }
  GgufBuilder& boolean(const std::string& key, bool value) {
    return entry(key, kGgufBool, std::string(1, value ? '\1' : '\0'));
  }
  GgufBuilder& str(const std::string& key, std::string_view value) {
    return entry(key, kGgufString, ByteWriter().str(value).bytes());
  }
  GgufBuilder& strings(const std::string& key, const std::vector<std::string>& values) {
    ByteWriter writer;
    writer.u32(kGgufString).u64(values.size());
    for (const std::string& value : values)
      writer.str(value);
    return entry(key, kGgufArray, writer.bytes());
  }
  GgufBuilder& i32s(const std::string& key, const std::vector<std::int32_t>& values) {
    return numbers(key, kGgufInt32, values);
  }
  GgufBuilder& u32s(const std::string& key, const std::vector<std::uint32_t>& values) {
    return numbers(key, kGgufUint32, values);
  }
  GgufBuilder& f32s(const std::string& key, const std::vector<float>& values) {
    return numbers(key, kGgufFloat32, values);
  }

  GgufBuilder& tensor(TensorSpec spec) {
    if (spec.data.empty()) {
      std::uint64_t num_bytes = sizeof(float);
      for (const std::uint64_t dim : spec.shape)
        num_bytes *= dim;
      spec.data.assign(num_bytes, '\0');
    }
    tensors_.push_back(std::move(spec));
    return *this;
  }
  // The tensor of that name, to spoil it. REQUIRES: it is there
  TensorSpec& at(std::string_view name) {
    for (TensorSpec& spec : tensors_) {
      if (spec.name == name) return spec;
    }
    throw std::out_of_range(std::string(name));
  }
  GgufBuilder& erase_tensor(std::string_view name) {
    std::erase_if(tensors_, [&](const TensorSpec& spec) { return spec.name == name; });
    return *this;
  }

  std::string build() const {
    ByteWriter file;
    file.raw("GGUF").u32(version_).u64(tensors_.size()).u64(entries_.size());
    for (const auto& [key, bytes] : entries_)
      file.raw(bytes);
    ByteWriter data;
    for (const TensorSpec& spec : tensors_) {
      const std::uint64_t offset = spec.offset.value_or(data.bytes().size());
      file.str(spec.name).u32(static_cast<std::uint32_t>(spec.shape.size()));
      for (auto dim = spec.shape.rbegin(); dim != spec.shape.rend(); ++dim)
        file.u64(*dim);
      file.u32(spec.type).u64(offset);
      data.raw(spec.data).pad_to(alignment_);
    }
    return file.pad_to(alignment_).raw(data.bytes()).bytes();
  }

 private:
  template <typename T>
  GgufBuilder& numbers(const std::string& key, std::uint32_t type, const std::vector<T>& values) {
    ByteWriter writer;
    writer.u32(type).u64(values.size());
    for (const T value : values)
      writer.number(value);
    return entry(key, kGgufArray, writer.bytes());
  }

  std::uint32_t version_ = 3;
  std::uint32_t alignment_ = 32;
  std::vector<std::pair<std::string, std::string>> entries_;  // key, whole entry
  std::vector<TensorSpec> tensors_;
};

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

// The view that GgufFile::from_bytes takes; `bytes` outlives it.
inline std::span<const std::byte> as_byte_span(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

}  // namespace tvllm::testing
