// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf.h"

#include <new>
#include <type_traits>
#include <utility>

#include "base/strings.h"
#include "loader/printable.h"

namespace tvllm::loader {

namespace {

// How the file stores a C++ type.
struct StoredType {
  GgufType type;
  GgufType element_type;  // of an array
};

template <typename T>
constexpr StoredType stored_type() {
  constexpr GgufType kNone = GgufType::kUint8;
  if constexpr (std::is_same_v<T, std::uint32_t>) return {GgufType::kUint32, kNone};
  if constexpr (std::is_same_v<T, std::int32_t>) return {GgufType::kInt32, kNone};
  if constexpr (std::is_same_v<T, std::uint64_t>) return {GgufType::kUint64, kNone};
  if constexpr (std::is_same_v<T, float>) return {GgufType::kFloat32, kNone};
  if constexpr (std::is_same_v<T, bool>) return {GgufType::kBool, kNone};
  if constexpr (std::is_same_v<T, std::string_view>) return {GgufType::kString, kNone};
  if constexpr (std::is_same_v<T, GgufStrings>) return {GgufType::kArray, GgufType::kString};
  if constexpr (std::is_same_v<T, GgufArray<std::int32_t>>)
    return {GgufType::kArray, GgufType::kInt32};
  if constexpr (std::is_same_v<T, GgufArray<float>>) return {GgufType::kArray, GgufType::kFloat32};
}

std::string describe(GgufType type, GgufType element_type) {
  if (type != GgufType::kArray) return std::string(gguf_type_name(type));
  return str_cat("array of ", gguf_type_name(element_type));
}

template <typename T>
T read_as(const GgufValue& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return value.string();
  } else if constexpr (std::is_same_v<T, GgufStrings>) {
    return value.strings();
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.scalar<std::uint8_t>() != 0;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value.scalar<T>();
  } else {
    return T(value.bytes);
  }
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
  try {
    TVLLM_TRY(MappedFile file, MappedFile::open(path));
    TVLLM_TRY(GgufFile gguf, from_bytes(path, file.bytes()));
    gguf.file_ = std::move(file);
    return gguf;
  } catch (const std::bad_alloc&) {
    // Short enough to need no allocation.
    return make_error(ErrorCode::kResourceExhausted, "out of memory");
  }
}

Result<GgufFile> GgufFile::from_bytes(std::string path, std::span<const std::byte> bytes) {
  TVLLM_TRY(GgufContents contents, parse_gguf(path, bytes));
  return GgufFile(std::move(path), bytes, std::move(contents));
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const std::optional<std::uint32_t> idx = contents_.entry_index.find(key);
  return idx ? &contents_.entries[*idx].value : nullptr;
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const {
  const std::optional<std::uint32_t> idx = contents_.tensor_index.find(name);
  return idx ? &contents_.tensors[*idx] : nullptr;
}

template <typename T>
Result<std::optional<T>> GgufFile::optional(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<T>();
  constexpr StoredType kStored = stored_type<T>();
  if (value->type != kStored.type ||
      (kStored.type == GgufType::kArray && value->element_type != kStored.element_type)) {
    return key_error(key, str_cat("expected type ", describe(kStored.type, kStored.element_type),
                                  ", found ", describe(value->type, value->element_type)));
  }
  return std::optional<T>(read_as<T>(*value));
}

template <typename T>
Result<T> GgufFile::require(std::string_view key) const {
  TVLLM_TRY(const std::optional<T> value, optional<T>(key));
  if (!value) return key_error(key, "the key is missing");
  return *value;
}

Error GgufFile::key_error(std::string_view key, std::string_view what, ErrorCode code) const {
  if (const GgufValue* value = find(key))
    return file_error(code, path_, quoted(key), value->file_offset, what);
  return make_error(code, str_cat("'", printable(path_), "': ", quoted(key), ": ", what),
                    std::string(key));
}

Error GgufFile::tensor_error(const TensorInfo& tensor, std::string_view what) const {
  return file_error(ErrorCode::kInvalidArgument, path_, str_cat("tensor ", quoted(tensor.name)),
                    tensor.file_offset, what);
}

void GgufFile::prefetch_tensors() const {
  if (file_ && data_offset() < bytes_.size())
    file_->will_need(bytes_.subspan(static_cast<std::size_t>(data_offset())));
}

void GgufFile::dont_need(const TensorInfo& tensor) const {
  if (file_) file_->dont_need(tensor.data);
}

template Result<std::uint32_t> GgufFile::require(std::string_view) const;
template Result<std::int32_t> GgufFile::require(std::string_view) const;
template Result<std::uint64_t> GgufFile::require(std::string_view) const;
template Result<float> GgufFile::require(std::string_view) const;
template Result<bool> GgufFile::require(std::string_view) const;
template Result<std::string_view> GgufFile::require(std::string_view) const;
template Result<GgufStrings> GgufFile::require(std::string_view) const;
template Result<GgufArray<std::int32_t>> GgufFile::require(std::string_view) const;
template Result<GgufArray<float>> GgufFile::require(std::string_view) const;

template Result<std::optional<std::uint32_t>> GgufFile::optional(std::string_view) const;
template Result<std::optional<std::int32_t>> GgufFile::optional(std::string_view) const;
template Result<std::optional<std::uint64_t>> GgufFile::optional(std::string_view) const;
template Result<std::optional<float>> GgufFile::optional(std::string_view) const;
template Result<std::optional<bool>> GgufFile::optional(std::string_view) const;
template Result<std::optional<std::string_view>> GgufFile::optional(std::string_view) const;
template Result<std::optional<GgufStrings>> GgufFile::optional(std::string_view) const;
template Result<std::optional<GgufArray<std::int32_t>>> GgufFile::optional(std::string_view) const;
template Result<std::optional<GgufArray<float>>> GgufFile::optional(std::string_view) const;

}  // namespace tvllm::loader
