// SPDX-License-Identifier: Apache-2.0
// Tensor infos of a GGUF file, and where their data lies.
#include <algorithm>
#include <numeric>
#include <string>

#include "base/strings.h"
#include "loader/ggml_types.h"
#include "loader/gguf_limits.h"
#include "loader/gguf_parser.h"

namespace tvllm::loader {

namespace {

// The least bytes of a tensor info: name length, one character, dim count, one dim, type, offset.
constexpr std::uint64_t kMinInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;

// Where a tensor's data should be, before it is known where the data begins.
struct Placement {
  std::uint64_t data_offset = 0;  // from the beginning of the data
  std::uint64_t num_bytes = 0;
  std::uint64_t field_offset = 0;  // of the offset field in the file: for messages
};

std::string field_of(std::string_view field, std::string_view tensor_name) {
  return str_cat(field, " of tensor ", quoted(tensor_name));
}

Result<std::string_view> read_name(ByteCursor& cursor, std::uint64_t tensor_idx) {
  const std::string field = str_cat("name of tensor ", tensor_idx);
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(const std::string_view name, cursor.read_string(kMaxTensorNameBytes, field));
  if (name.empty()) return cursor.invalid(at, field, "expected a name, found an empty one");
  return name;
}

// The file has the innermost dimension first; TensorInfo the outermost.
Status read_shape(ByteCursor& cursor, TensorInfo& tensor) {
  const std::string field = field_of("dimensions", tensor.name);
  std::uint64_t at = cursor.offset();
  TVLLM_TRY(const std::uint32_t num_dims, cursor.read_u32(field));
  if (num_dims < 1 || num_dims > kMaxTensorDims) {
    return cursor.invalid(at, field,
                          str_cat("expected 1 to ", kMaxTensorDims, " of them, found ", num_dims));
  }
  for (std::uint32_t i = 0; i < num_dims; ++i) {
    at = cursor.offset();
    TVLLM_TRY(const std::uint64_t dim, cursor.read_u64(field));
    if (dim < 1 || dim > kMaxTensorDim) {
      return cursor.invalid(at, field,
                            str_cat("expected each from 1 to ", kMaxTensorDim, ", found ", dim));
    }
    tensor.shape.push_back(static_cast<std::int64_t>(dim));
  }
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  return {};
}

Status read_dtype(ByteCursor& cursor, TensorInfo& tensor) {
  const std::string field = field_of("type", tensor.name);
  const std::uint64_t at = cursor.offset();
  TVLLM_TRY(const std::uint32_t id, cursor.read_u32(field));
  const GgmlType* type = ggml_type(id);
  if (type == nullptr)
    return cursor.invalid(at, field, str_cat("expected a tensor type, found unknown number ", id));
  if (!type->dtype) {
    return file_error(
        ErrorCode::kUnsupported, cursor.path(), field, at,
        str_cat(type->name, " is not supported (supported: ", supported_type_names(), ")"));
  }
  tensor.dtype = *type->dtype;
  return {};
}

// Bytes of the data: rows of whole blocks.
Result<std::uint64_t> count_bytes(const ByteCursor& cursor, const TensorInfo& tensor,
                                  std::uint64_t at) {
  const std::string field = field_of("dimensions", tensor.name);
  const DTypeInfo& dtype = dtype_info(tensor.dtype);
  const std::int64_t row_len = tensor.shape.back();
  if (row_len % dtype.block_len != 0) {
    return cursor.invalid(at, field,
                          str_cat("expected rows of a multiple of ", dtype.block_len,
                                  " elements for ", dtype.name, ", found ", row_len));
  }
  std::int64_t num_bytes = row_bytes(tensor.dtype, row_len);  // below 2^31 * 4
  for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i) {
    if (__builtin_mul_overflow(num_bytes, tensor.shape[i], &num_bytes))
      return cursor.invalid(at, field, "the size in bytes is over 2^63");
  }
  return static_cast<std::uint64_t>(num_bytes);
}

Result<Placement> read_info(ByteCursor& cursor, std::uint64_t alignment, TensorInfo& tensor) {
  const std::uint64_t shape_at = cursor.offset();
  TVLLM_RETURN_IF_ERROR(read_shape(cursor, tensor));
  TVLLM_RETURN_IF_ERROR(read_dtype(cursor, tensor));
  Placement place;
  TVLLM_TRY(place.num_bytes, count_bytes(cursor, tensor, shape_at));
  place.field_offset = cursor.offset();
  TVLLM_TRY(place.data_offset, cursor.read_u64(field_of("offset", tensor.name)));
  if (place.data_offset % alignment != 0) {
    return cursor.invalid(
        place.field_offset, field_of("offset", tensor.name),
        str_cat("expected a multiple of the alignment ", alignment, ", found ", place.data_offset));
  }
  return place;
}

Status check_names(const ByteCursor& cursor, GgufContents& contents,
                   const std::vector<Placement>& places) {
  const auto twice = contents.tensor_index.finish();
  if (!twice) return {};
  return cursor.invalid(
      places[twice->second].field_offset, field_of("name", contents.tensors[twice->second].name),
      str_cat("the name stands twice: tensors ", twice->first, " and ", twice->second));
}

// Gives each tensor its bytes. Neither sum can wrap: each is compared by subtraction.
Status place_tensors(const ByteCursor& cursor, std::span<const std::byte> bytes,
                     GgufContents& contents, const std::vector<Placement>& places) {
  const std::uint64_t data_bytes =
      bytes.size() - std::min<std::uint64_t>(bytes.size(), contents.data_offset);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Placement& place = places[i];
    TensorInfo& tensor = contents.tensors[i];
    if (place.num_bytes > data_bytes || place.data_offset > data_bytes - place.num_bytes) {
      return cursor.invalid(
          place.field_offset, field_of("data", tensor.name),
          str_cat("the file is truncated, or the offset wrong: ", place.num_bytes, " bytes at ",
                  place.data_offset, " of the data, which has ", data_bytes, " bytes"));
    }
    tensor.file_offset = contents.data_offset + place.data_offset;
    tensor.data = bytes.subspan(static_cast<std::size_t>(tensor.file_offset),
                                static_cast<std::size_t>(place.num_bytes));
  }
  return {};
}

Status check_overlap(const ByteCursor& cursor, const GgufContents& contents,
                     const std::vector<Placement>& places) {
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return places[a].data_offset < places[b].data_offset;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Placement& before = places[order[i - 1]];
    const Placement& place = places[order[i]];
    if (place.data_offset - before.data_offset < before.num_bytes) {
      return cursor.invalid(
          place.field_offset, field_of("data", contents.tensors[order[i]].name),
          str_cat("it overlaps the data of tensor ", quoted(contents.tensors[order[i - 1]].name)));
    }
  }
  return {};
}

}  // namespace

Status read_tensors(ByteCursor& cursor, std::span<const std::byte> bytes, std::uint64_t num_tensors,
                    GgufContents& contents) {
  const auto expected =
      static_cast<std::size_t>(std::min(num_tensors, cursor.remaining() / kMinInfoBytes));
  std::vector<Placement> places;
  places.reserve(expected);
  contents.tensors.reserve(expected);
  contents.tensor_index.reserve(expected);
  for (std::uint64_t i = 0; i < num_tensors; ++i) {
    TVLLM_TRY(const std::string_view name, read_name(cursor, i));
    TensorInfo tensor;
    tensor.name = std::string(name);
    TVLLM_TRY(const Placement place, read_info(cursor, contents.alignment, tensor));
    places.push_back(place);
    contents.tensors.push_back(std::move(tensor));
    contents.tensor_index.add(name);
  }
  // Cannot wrap: the offset is at most kMaxMetadataBytes, the alignment at most kMaxAlignment.
  contents.data_offset =
      (cursor.offset() + contents.alignment - 1) / contents.alignment * contents.alignment;
  TVLLM_RETURN_IF_ERROR(check_names(cursor, contents, places));
  TVLLM_RETURN_IF_ERROR(place_tensors(cursor, bytes, contents, places));
  return check_overlap(cursor, contents, places);
}

}  // namespace tvllm::loader
