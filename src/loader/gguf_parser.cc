// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/strings.h"
#include "loader/foreign_format.h"
#include "loader/gguf_limits.h"

namespace tvllm::loader {

namespace {

constexpr std::string_view kMagic = "GGUF";
// The least bytes of a metadata entry: key length, one character, type, one byte.
constexpr std::uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;

struct Counts {
  std::uint64_t num_tensors = 0;
  std::uint64_t num_entries = 0;
};

Status check_magic(ByteCursor& cursor, std::span<const std::byte> bytes) {
  const std::size_t num_found = std::min(bytes.size(), kMagic.size());
  const std::string_view found(reinterpret_cast<const char*>(bytes.data()), num_found);
  if (found != kMagic.substr(0, num_found)) {
    const std::string_view foreign = describe_foreign_format(bytes);
    return cursor.invalid(0, "magic",
                          foreign.empty() ? str_cat("expected a GGUF file, found ", quoted(found))
                                          : str_cat("expected a GGUF file, found ", foreign));
  }
  TVLLM_TRY([[maybe_unused]] const auto magic, cursor.take(kMagic.size(), "magic"));
  return {};
}

Status read_version(ByteCursor& cursor, GgufContents& contents) {
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(contents.version, cursor.read_u32("version"));
  if (contents.version == 2 || contents.version == 3) return {};
  if (contents.version != 0 && (contents.version & 0xffffff) == 0) {
    return file_error(
        ErrorCode::kUnsupported, cursor.path(), "version", at,
        str_cat("the file is big-endian (version ", contents.version >> 24, " stored as ",
                hex(contents.version), "): only little-endian files are supported"));
  }
  const bool may_be_real = contents.version == 1 || contents.version < 100;
  return file_error(
      contents.version != 0 && may_be_real ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
      cursor.path(), "version", at, str_cat("expected 2 or 3, found ", contents.version));
}

Result<std::uint64_t> read_count(ByteCursor& cursor, std::string_view field, std::uint64_t max) {
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(const std::uint64_t count, cursor.read_u64(field));
  if (count > max)
    return cursor.invalid(at, field, str_cat("expected at most ", max, ", found ", count));
  return count;
}

Result<Counts> read_header(ByteCursor& cursor, std::span<const std::byte> bytes,
                           GgufContents& contents) {
  TVLLM_RETURN_IF_ERROR(check_magic(cursor, bytes));
  TVLLM_RETURN_IF_ERROR(read_version(cursor, contents));
  Counts counts;
  TVLLM_TRY(counts.num_tensors, read_count(cursor, "tensor count", kMaxTensors));
  TVLLM_TRY(counts.num_entries, read_count(cursor, "metadata count", kMaxMetadataEntries));
  return counts;
}

Result<std::string_view> read_key(ByteCursor& cursor, std::uint64_t entry_idx) {
  const std::string field = str_cat("key of metadata entry ", entry_idx);
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(const std::string_view key, cursor.read_string(kMaxKeyBytes, field));
  if (key.empty()) return cursor.invalid(at, field, "expected a name, found an empty one");
  const auto is_ascii = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (!std::all_of(key.begin(), key.end(), is_ascii))
    return cursor.invalid(at, field, str_cat("expected printable ASCII, found ", quoted(key)));
  return key;
}

Result<GgufType> read_type(ByteCursor& cursor, std::string_view field) {
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(const std::uint32_t type, cursor.read_u32(field));
  if (type >= kNumGgufTypes) {
    return cursor.invalid(
        at, field,
        str_cat("expected a value type from 0 to ", kNumGgufTypes - 1, ", found ", type));
  }
  return static_cast<GgufType>(type);
}

Status check_bools(const ByteCursor& cursor, const GgufValue& value, std::string_view field) {
  for (std::size_t i = 0; i < value.bytes.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(value.bytes[i]);
    if (byte > 1) {
      return cursor.invalid(value.file_offset + i, field,
                            str_cat("expected a bool, 0 or 1, found ", byte));
    }
  }
  return {};
}

// Walks `count` strings; the value becomes all their bytes, lengths included.
Status read_string_array(ByteCursor& cursor, std::span<const std::byte> bytes, GgufValue& value,
                         std::string_view field) {
  const std::uint64_t start = cursor.offset();
  for (std::uint64_t i = 0; i < value.count; ++i) {
    const std::uint64_t at = cursor.offset();
    if (cursor.remaining() < sizeof(std::uint64_t))
      return cursor.out_of_bytes(at, sizeof(std::uint64_t), str_cat(field, "[", i, "]"));
    std::uint64_t num_bytes = 0;
    std::memcpy(&num_bytes, bytes.data() + at, sizeof(num_bytes));
    if (num_bytes > kMaxStringBytes || num_bytes > cursor.remaining() - sizeof(num_bytes)) {
      // Reads it again for the sentence that fits.
      TVLLM_TRY([[maybe_unused]] const auto text,
                cursor.read_string(kMaxStringBytes, str_cat(field, "[", i, "]")));
    }
    TVLLM_TRY([[maybe_unused]] const auto text, cursor.take(sizeof(num_bytes) + num_bytes, field));
  }
  value.bytes = bytes.subspan(static_cast<std::size_t>(start),
                              static_cast<std::size_t>(cursor.offset() - start));
  return {};
}

Status read_array(ByteCursor& cursor, std::span<const std::byte> bytes, GgufValue& value,
                  std::string_view field) {
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(value.element_type, read_type(cursor, str_cat("element type of ", field)));
  if (value.element_type == GgufType::kArray)
    return cursor.invalid(at, field, "arrays of arrays are not supported");
  TVLLM_TRY(value.count, read_count(cursor, str_cat("length of ", field), kMaxArrayElements));
  value.file_offset = cursor.offset();
  if (value.element_type == GgufType::kString)
    return read_string_array(cursor, bytes, value, field);
  const std::uint64_t num_bytes = value.count * gguf_type_bytes(value.element_type);
  TVLLM_TRY(value.bytes, cursor.take(num_bytes, field));
  return value.element_type == GgufType::kBool ? check_bools(cursor, value, field) : Status();
}

Result<GgufValue> read_value(ByteCursor& cursor, std::span<const std::byte> bytes,
                             std::string_view key) {
  const std::string field = quoted(key);
  GgufValue value;
  TVLLM_TRY(value.type, read_type(cursor, str_cat("type of ", field)));
  value.file_offset = cursor.offset();
  if (value.type == GgufType::kArray) {
    TVLLM_RETURN_IF_ERROR(read_array(cursor, bytes, value, field));
    return value;
  }
  if (value.type == GgufType::kString) {
    TVLLM_TRY(const std::string_view text, cursor.read_string(kMaxStringBytes, field));
    value.bytes = std::as_bytes(std::span(text));
    return value;
  }
  TVLLM_TRY(value.bytes, cursor.take(gguf_type_bytes(value.type), field));
  if (value.type == GgufType::kBool) TVLLM_RETURN_IF_ERROR(check_bools(cursor, value, field));
  return value;
}

Status read_entries(ByteCursor& cursor, std::span<const std::byte> bytes, std::uint64_t num_entries,
                    GgufContents& contents) {
  contents.entries.reserve(
      static_cast<std::size_t>(std::min(num_entries, cursor.remaining() / kMinEntryBytes)));
  for (std::uint64_t i = 0; i < num_entries; ++i) {
    TVLLM_TRY(const std::string_view key, read_key(cursor, i));
    TVLLM_TRY(const GgufValue value, read_value(cursor, bytes, key));
    contents.entries.push_back({key, value});
  }
  contents.entry_index.reserve(contents.entries.size());
  for (const GgufEntry& entry : contents.entries)
    contents.entry_index.add(entry.key);
  if (const auto twice = contents.entry_index.finish()) {
    const GgufEntry& again = contents.entries[twice->second];
    return cursor.invalid(
        again.value.file_offset, quoted(again.key),
        str_cat("the key stands twice: metadata entries ", twice->first, " and ", twice->second));
  }
  return {};
}

Status read_alignment(const ByteCursor& cursor, GgufContents& contents) {
  constexpr std::string_view kKey = "general.alignment";
  contents.alignment = kDefaultAlignment;
  const std::optional<std::uint32_t> idx = contents.entry_index.find(kKey);
  if (!idx) return {};
  const GgufValue& value = contents.entries[*idx].value;
  const std::string expected = str_cat("expected a power of two from ", kMinAlignment, " to ",
                                       kMaxAlignment, " as uint32, found ");
  if (value.type != GgufType::kUint32) {
    return cursor.invalid(value.file_offset, quoted(kKey),
                          str_cat(expected, "type ", gguf_type_name(value.type)));
  }
  contents.alignment = value.scalar<std::uint32_t>();
  if (!std::has_single_bit(contents.alignment) || contents.alignment < kMinAlignment ||
      contents.alignment > kMaxAlignment) {
    return cursor.invalid(value.file_offset, quoted(kKey), str_cat(expected, contents.alignment));
  }
  return {};
}

}  // namespace

Result<GgufContents> parse_gguf(std::string_view path, std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes, path, kMaxMetadataBytes);
  GgufContents contents;
  TVLLM_TRY(const Counts counts, read_header(cursor, bytes, contents));
  TVLLM_RETURN_IF_ERROR(read_entries(cursor, bytes, counts.num_entries, contents));
  TVLLM_RETURN_IF_ERROR(read_alignment(cursor, contents));
  TVLLM_RETURN_IF_ERROR(read_tensors(cursor, bytes, counts.num_tensors, contents));
  return contents;
}

}  // namespace tvllm::loader
