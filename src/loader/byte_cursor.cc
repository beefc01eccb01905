// SPDX-License-Identifier: Apache-2.0
#include "loader/byte_cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/strings.h"
#include "loader/printable.h"

namespace tvllm::loader {

static_assert(std::endian::native == std::endian::little,
              "fields of model files are copied as they lie, which is little-endian");

Error file_error(ErrorCode code, std::string_view path, std::string_view field,
                 std::uint64_t offset, std::string_view what) {
  return make_error(
      code, str_cat("'", printable(path), "': ", field, " at offset ", hex(offset), ": ", what),
      std::string(field));
}

ByteCursor::ByteCursor(std::span<const std::byte> bytes, std::string_view path,
                       std::uint64_t max_bytes)
    : bytes_(bytes), path_(path), end_(std::min<std::uint64_t>(bytes.size(), max_bytes)) {}

Result<std::span<const std::byte>> ByteCursor::take(std::uint64_t num_bytes,
                                                    std::string_view field) {
  if (num_bytes > remaining()) return out_of_bytes(offset_, num_bytes, field);
  const std::span<const std::byte> part =
      bytes_.subspan(static_cast<std::size_t>(offset_), static_cast<std::size_t>(num_bytes));
  offset_ += num_bytes;
  return part;
}

template <typename T>
Result<T> ByteCursor::read_integer(std::string_view field) {
  TVLLM_TRY(const std::span<const std::byte> part, take(sizeof(T), field));
  T value{};
  std::memcpy(&value, part.data(), sizeof(T));
  return value;
}

Result<std::uint32_t> ByteCursor::read_u32(std::string_view field) {
  return read_integer<std::uint32_t>(field);
}

Result<std::uint64_t> ByteCursor::read_u64(std::string_view field) {
  return read_integer<std::uint64_t>(field);
}

Result<std::string_view> ByteCursor::read_string(std::uint64_t max_bytes, std::string_view field) {
  const std::uint64_t start = offset_;
  TVLLM_TRY(const std::uint64_t num_bytes, read_u64(field));
  if (num_bytes > max_bytes) {
    return invalid(
        start, field,
        str_cat("expected a length of at most ", max_bytes, " bytes, found ", num_bytes));
  }
  TVLLM_TRY(const std::span<const std::byte> text, take(num_bytes, field));
  return std::string_view(reinterpret_cast<const char*>(text.data()), text.size());
}

Error ByteCursor::invalid(std::uint64_t at, std::string_view field, std::string_view what) const {
  return file_error(ErrorCode::kInvalidArgument, path_, field, at, what);
}

Error ByteCursor::out_of_bytes(std::uint64_t at, std::uint64_t num_bytes,
                               std::string_view field) const {
  if (end_ < bytes_.size()) {
    return file_error(ErrorCode::kTooLarge, path_, field, at,
                      str_cat("the metadata is larger than the limit of ", end_, " bytes"));
  }
  return invalid(at, field,
                 str_cat("the file is truncated: ", num_bytes, " bytes are needed here, ",
                         end_ - std::min(at, end_), " are left of ", bytes_.size()));
}

}  // namespace tvllm::loader
