// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/random_tensors.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

namespace tvllm::testing {

namespace {

// std::normal_distribution differs between libraries; a sum of uniform numbers does not.
double bell(std::mt19937& generator) {
  double sum = 0.0;
  for (int i = 0; i < 12; ++i) {
    sum += static_cast<double>(generator()) / 4294967296.0;
  }
  return sum - 6.0;
}

// The half nearest below a positive number up to 65504.
std::uint16_t half_bits(double value) {
  if (value < 0x1.0p-14) return static_cast<std::uint16_t>(value * 0x1.0p24);
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<int>(fraction * 2048.0) - 1024;
  return static_cast<std::uint16_t>((exponent + 14) << 10 | mantissa);
}

void put_half(std::byte* to, double value) {
  const int sign = value < 0.0 ? 0x8000 : 0;
  const auto bits = static_cast<std::uint16_t>(half_bits(std::fabs(value)) | sign);
  std::memcpy(to, &bits, sizeof(bits));
}

// Where the halves of a block stand, and about how large the integers are that they multiply.
struct ScalePlace {
  std::size_t offset;
  double integer_size;
};

std::vector<ScalePlace> scale_places(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
      return {{0, 4.6}};
    case DType::kQ4_1:
      return {{0, 8.8}, {2, 1.0}};
    case DType::kQ5_0:
      return {{0, 9.2}};
    case DType::kQ5_1:
      return {{0, 18.0}, {2, 1.0}};
    case DType::kQ8_0:
      return {{0, 74.0}};
    case DType::kQ4_K:
      return {{0, 8.8 * 36.0}, {2, 36.0}};
    case DType::kQ5_K:
      return {{0, 18.0 * 36.0}, {2, 36.0}};
    case DType::kQ6_K:
      return {{208, 18.5 * 74.0}};
    default:
      return {};
  }
}

void put_plain(DType dtype, double value, std::byte* to) {
  const auto rounded = static_cast<float>(value);
  if (dtype == DType::kF32) {
    std::memcpy(to, &rounded, sizeof(rounded));
  } else if (dtype == DType::kF16) {
    put_half(to, value);
  } else {
    const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
    std::memcpy(to, &bits, sizeof(bits));
  }
}

}  // namespace

Tensor random_tensor(std::int64_t num_rows, std::int64_t num_cols, std::uint32_t seed,
                     double scale) {
  std::mt19937 generator(seed);
  Tensor tensor(num_rows, num_cols);
  for (float& value : tensor.data) {
    value = static_cast<float>(bell(generator) * scale);
  }
  return tensor;
}

Weights random_weights(DType dtype, std::int64_t num_rows, std::int64_t num_cols,
                       std::uint32_t seed) {
  std::mt19937 generator(seed);
  const double size = 1.0 / std::sqrt(static_cast<double>(num_cols));
  const DTypeInfo& info = dtype_info(dtype);
  Weights weights{dtype, num_rows, num_cols, {}};
  weights.bytes.resize(1 + static_cast<std::size_t>(num_rows * row_bytes(dtype, num_cols)));
  const std::vector<ScalePlace> places = scale_places(dtype);
  const auto block_bytes = static_cast<std::size_t>(info.block_bytes);
  const std::span<std::byte> blocks = std::span(weights.bytes).subspan(1);
  for (std::size_t at = 0; at < blocks.size(); at += block_bytes) {
    if (places.empty()) {
      put_plain(dtype, bell(generator) * size, &blocks[at]);
      continue;
    }
    for (std::size_t i = 0; i < block_bytes; ++i) {
      blocks[at + i] = static_cast<std::byte>(generator() & 0xff);
    }
    for (const ScalePlace& place : places) {
      const double jitter = 0.5 + static_cast<double>(generator()) / 4294967296.0;
      const double sign = generator() % 2 == 0 ? 1.0 : -1.0;
      put_half(&blocks[at + place.offset], sign * jitter * size / place.integer_size);
    }
  }
  return weights;
}

std::vector<std::int32_t> random_integers(std::size_t count, std::int32_t limit,
                                          std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<std::int32_t> integers(count);
  for (std::int32_t& integer : integers) {
    integer = static_cast<std::int32_t>(generator() % static_cast<std::uint32_t>(limit));
  }
  return integers;
}

}  // namespace tvllm::testing
