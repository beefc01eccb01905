// SPDX-License-Identifier: Apache-2.0
#include "loader/inspect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/strings.h"
#include "base/utf8.h"
#include "loader/printable.h"

namespace tvllm::loader {

namespace {

constexpr std::size_t kMaxKeyColumn = 44;
constexpr std::size_t kMaxListed = 8;  // elements of an array
constexpr std::size_t kMaxElementColumn = 40;

std::size_t num_chars(std::string_view text) {
  const auto starts_char = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_char));
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t length = num_chars(text);
  if (length < width) out.append(width - length, ' ');
  return out;
}

std::string right_aligned(std::string_view text, std::size_t width) {
  const std::size_t length = num_chars(text);
  return str_cat(std::string(length < width ? width - length : 0, ' '), text);
}

template <typename T>
std::string element_text(std::span<const std::byte> bytes, std::size_t i) {
  const T value = GgufArray<T>(bytes)[i];
  if constexpr (std::is_floating_point_v<T>) {
    // 100000, which the shortest form would make 1e+05.
    constexpr T kMaxPlain = 1e9;
    if (value > -kMaxPlain && value < kMaxPlain && std::trunc(value) == value)
      return str_cat(static_cast<std::int64_t>(value));
  }
  return str_cat(value);
}

std::string number_text(GgufType type, std::span<const std::byte> bytes, std::size_t i) {
  switch (type) {
    case GgufType::kUint8:
      return element_text<std::uint8_t>(bytes, i);
    case GgufType::kInt8:
      return element_text<std::int8_t>(bytes, i);
    case GgufType::kUint16:
      return element_text<std::uint16_t>(bytes, i);
    case GgufType::kInt16:
      return element_text<std::int16_t>(bytes, i);
    case GgufType::kUint32:
      return element_text<std::uint32_t>(bytes, i);
    case GgufType::kInt32:
      return element_text<std::int32_t>(bytes, i);
    case GgufType::kFloat32:
      return element_text<float>(bytes, i);
    case GgufType::kBool:
      return std::to_integer<int>(bytes[i]) != 0 ? "true" : "false";
    case GgufType::kUint64:
      return element_text<std::uint64_t>(bytes, i);
    case GgufType::kInt64:
      return element_text<std::int64_t>(bytes, i);
    case GgufType::kFloat64:
      return element_text<double>(bytes, i);
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return "?";
}

// The text in double quotes, in at most `width` columns.
std::string string_text(std::string_view text, std::size_t width) {
  constexpr std::size_t kQuotes = 2;
  constexpr std::size_t kDots = 3;
  const std::size_t budget = std::max(width, kQuotes + kDots + 1) - kQuotes;
  std::string whole = printable(text, budget);
  if (num_chars(whole) <= budget) return str_cat("\"", whole, "\"");
  // Escapes are wider than what they stand for: take characters away until it fits.
  for (std::size_t take = budget - kDots;; --take) {
    std::string part = printable(text, take);
    if (num_chars(part) <= budget || take == 0) return str_cat("\"", part, "\"");
  }
}

// As many elements as fit into `width` columns, at most kMaxListed.
std::string array_text(const GgufValue& value, std::size_t width) {
  constexpr std::string_view kMore = ", ...";
  const bool is_strings = value.element_type == GgufType::kString;
  const std::string_view noun = !is_strings ? "" : value.count == 1 ? " string" : " strings";
  std::string out = str_cat(value.count, noun, value.count > 0 ? ": " : "");
  GgufStrings::Iterator string = value.strings().begin();
  for (std::uint64_t i = 0; i < value.count; ++i) {
    const std::string_view comma = i == 0 ? "" : ", ";
    const std::size_t used =
        num_chars(out) + comma.size() + (i + 1 < value.count ? kMore.size() : 0);
    const std::size_t room = width > used ? width - used : 0;
    std::string element;
    if (is_strings) {
      // The first one is cut to what is left, the others stand whole or not at all.
      element =
          string_text(*string, i == 0 ? std::min(room, kMaxElementColumn) : kMaxElementColumn);
      ++string;
    } else {
      element = number_text(value.element_type, value.bytes, static_cast<std::size_t>(i));
    }
    if (i == kMaxListed || num_chars(element) > room) return str_cat(out, i == 0 ? "..." : kMore);
    str_append(out, comma, element);
  }
  return out;
}

std::string value_text(const GgufValue& value, std::size_t width) {
  if (value.type == GgufType::kArray) return array_text(value, width);
  if (value.type == GgufType::kString) return string_text(value.string(), width);
  return number_text(value.type, value.bytes, 0);
}

std::string type_text(const GgufValue& value) {
  if (value.type != GgufType::kArray) return std::string(gguf_type_name(value.type));
  return str_cat(gguf_type_name(value.element_type), "[]");
}

// A text of several lines, indented, its control characters escaped but for the line breaks.
void append_block(std::string& out, std::string_view text) {
  for (const std::string_view line : split(text, '\n'))
    str_append(out, "    | ", printable(line, line.size()), "\n");
}

void append_metadata(std::string& out, const GgufFile& file, const InspectOptions& options) {
  constexpr std::size_t kTypeColumn = 9;
  std::size_t key_column = 0;
  for (const GgufEntry& entry : file.entries())
    key_column = std::max(key_column, std::min(entry.key.size(), kMaxKeyColumn));
  const std::size_t indent = 2 + key_column + 2 + kTypeColumn + 2;
  const std::size_t width = options.line_width > indent + 10 ? options.line_width - indent : 10;

  out += "\nMetadata\n";
  for (const GgufEntry& entry : file.entries()) {
    str_append(out, "  ", padded(printable(entry.key, kMaxKeyColumn), key_column), "  ",
               padded(type_text(entry.value), kTypeColumn), "  ");
    const bool as_block = options.show_whole_strings && entry.value.type == GgufType::kString &&
                          entry.value.bytes.size() + 2 > width;
    if (as_block) {
      str_append(out, with_commas(entry.value.bytes.size()), " bytes:\n");
      append_block(out, entry.value.string());
    } else {
      str_append(out, value_text(entry.value, width), "\n");
    }
  }
}

std::string shape_text(const TensorInfo& tensor) {
  std::string out;
  for (const std::int64_t dim : tensor.shape)
    str_append(out, out.empty() ? "" : " x ", dim);
  return out;
}

void append_tensors(std::string& out, const GgufFile& file) {
  std::size_t name_column = 4;
  std::size_t shape_column = 5;
  for (const TensorInfo& tensor : file.tensors()) {
    name_column = std::max(name_column, num_chars(printable(tensor.name)));
    shape_column = std::max(shape_column, shape_text(tensor).size());
  }
  constexpr std::size_t kTypeColumn = 4;
  constexpr std::size_t kBytesColumn = 14;
  constexpr std::size_t kOffsetColumn = 12;
  const auto append_row = [&](std::string_view name, std::string_view type, std::string_view shape,
                              std::string_view bytes, std::string_view offset) {
    str_append(out, "  ", padded(name, name_column), "  ", padded(type, kTypeColumn), "  ",
               padded(shape, shape_column), right_aligned(bytes, kBytesColumn),
               right_aligned(offset, kOffsetColumn), "\n");
  };
  out += "\nTensors\n";
  append_row("name", "type", "shape", "bytes", "offset");
  for (const TensorInfo& tensor : file.tensors()) {
    append_row(printable(tensor.name), dtype_info(tensor.dtype).name, shape_text(tensor),
               with_commas(tensor.data.size()), hex(tensor.file_offset));
  }
}

struct Total {
  std::uint64_t num_tensors = 0;
  std::uint64_t num_parameters = 0;
  std::uint64_t num_bytes = 0;

  void add(const TensorInfo& tensor) {
    const DTypeInfo& dtype = dtype_info(tensor.dtype);
    ++num_tensors;
    num_bytes += tensor.data.size();
    num_parameters += tensor.data.size() / static_cast<std::uint64_t>(dtype.block_bytes) *
                      static_cast<std::uint64_t>(dtype.block_len);
  }
};

void append_totals(std::string& out, const GgufFile& file) {
  constexpr std::size_t kNumTypes = static_cast<std::size_t>(DType::kQ6_K) + 1;
  std::array<Total, kNumTypes> by_type;
  Total all;
  for (const TensorInfo& tensor : file.tensors()) {
    by_type[static_cast<std::size_t>(tensor.dtype)].add(tensor);
    all.add(tensor);
  }
  const auto append_row = [&out](std::string_view name, const Total& total) {
    const double bits = total.num_parameters == 0 ? 0.0
                                                  : 8.0 * static_cast<double>(total.num_bytes) /
                                                        static_cast<double>(total.num_parameters);
    str_append(out, "  ", padded(name, 6), right_aligned(with_commas(total.num_tensors), 8),
               right_aligned(with_commas(total.num_parameters), 18),
               right_aligned(human_bytes(total.num_bytes), 12), right_aligned(fixed(bits, 2), 10),
               "\n");
  };
  str_append(out, "\nTotals\n  ", padded("type", 6), right_aligned("tensors", 8),
             right_aligned("parameters", 18), right_aligned("size", 12),
             right_aligned("bits/par.", 10), "\n");
  for (std::size_t i = 0; i < kNumTypes; ++i) {
    if (by_type[i].num_tensors > 0) append_row(dtype_info(static_cast<DType>(i)).name, by_type[i]);
  }
  append_row("all", all);
}

}  // namespace

std::string describe_model_file(const GgufFile& file, const InspectOptions& options) {
  std::string out = str_cat(printable(file.path()), "\nGGUF version ", file.version(), ", ",
                            human_bytes(file.file_bytes()), ", alignment ", file.alignment(),
                            ", data at ", hex(file.data_offset()), "\n", file.entries().size(),
                            " metadata entries, ", file.tensors().size(), " tensors\n");
  if (options.show_metadata) append_metadata(out, file, options);
  if (options.show_tensors) append_tensors(out, file);
  append_totals(out, file);
  return out;
}

}  // namespace tvllm::loader
