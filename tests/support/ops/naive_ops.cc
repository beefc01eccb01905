// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ops/naive_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tvllm::testing::naive {

namespace {

double half_at(const std::uint8_t* bytes) {
  const int bits = bytes[0] + 256 * bytes[1];
  const int exponent = bits / 1024 % 32;
  const double magnitude =
      exponent == 0 ? std::ldexp(bits % 1024, -24) : std::ldexp(1024 + bits % 1024, exponent - 25);
  return bits >= 0x8000 ? -magnitude : magnitude;
}

double float_at(const std::uint8_t* bytes) {
  float value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<double>(value);
}

double bf16_at(const std::uint8_t* bytes) {
  const std::uint8_t wide[4] = {0, 0, bytes[0], bytes[1]};
  return float_at(wide);
}

int low_or_high(std::uint8_t byte, bool high) {
  return high ? byte / 16 : byte % 16;
}

int bit_at(const std::uint8_t* bytes, int idx) {
  return bytes[idx / 8] >> (idx % 8) & 1;
}

// Element i of a block of 32 with its nibbles at `qs`.
int nibble(const std::uint8_t* qs, int i) {
  return low_or_high(qs[i % 16], i >= 16);
}

// Scale and minimum of group g of a Q4_K or Q5_K block.
void k_scales(const std::uint8_t* packed, int g, int& scale, int& min) {
  if (g < 4) {
    scale = packed[g] % 64;
    min = packed[g + 4] % 64;
    return;
  }
  scale = packed[g + 4] % 16 + packed[g - 4] / 64 * 16;
  min = packed[g + 4] / 16 + packed[g] / 64 * 16;
}

double q4_k(const std::uint8_t* block, int i) {
  int scale = 0;
  int min = 0;
  k_scales(block + 4, i / 32, scale, min);
  const int q = low_or_high(block[16 + i / 64 * 32 + i % 32], i / 32 % 2 == 1);
  return half_at(block) * scale * q - half_at(block + 2) * min;
}

double q5_k(const std::uint8_t* block, int i) {
  int scale = 0;
  int min = 0;
  k_scales(block + 4, i / 32, scale, min);
  const int high = block[16 + i % 32] >> (i / 32) & 1;
  const int q = low_or_high(block[48 + i / 64 * 32 + i % 32], i / 32 % 2 == 1) + 16 * high;
  return half_at(block) * scale * q - half_at(block + 2) * min;
}

double q6_k(const std::uint8_t* block, int i) {
  const int half = i / 128;
  const int quarter = i % 128 / 32;
  const int low = low_or_high(block[64 * half + i % 64], quarter >= 2);
  const int high = block[128 + 32 * half + i % 32] >> (2 * quarter) & 3;
  const int scale = static_cast<std::int8_t>(block[192 + i / 16]);
  return half_at(block + 208) * scale * (low + 16 * high - 32);
}

double element_of_block(DType dtype, const std::uint8_t* block, int i) {
  switch (dtype) {
    case DType::kF32:
      return float_at(block);
    case DType::kF16:
      return half_at(block);
    case DType::kBF16:
      return bf16_at(block);
    case DType::kQ4_0:
      return half_at(block) * (nibble(block + 2, i) - 8);
    case DType::kQ4_1:
      return half_at(block) * nibble(block + 4, i) + half_at(block + 2);
    case DType::kQ5_0:
      return half_at(block) * (nibble(block + 6, i) + 16 * bit_at(block + 2, i) - 16);
    case DType::kQ5_1:
      return half_at(block) * (nibble(block + 8, i) + 16 * bit_at(block + 4, i)) +
             half_at(block + 2);
    case DType::kQ8_0:
      return half_at(block) * static_cast<std::int8_t>(block[2 + i]);
    case DType::kQ4_K:
      return q4_k(block, i);
    case DType::kQ5_K:
      return q5_k(block, i);
    case DType::kQ6_K:
      return q6_k(block, i);
  }
  return 0.0;
}

}  // namespace

double weight_at(const Weights& weights, std::int64_t row, std::int64_t col) {
  const DTypeInfo& info = dtype_info(weights.dtype);
  const std::int64_t block = row * (weights.num_cols / info.block_len) + col / info.block_len;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(weights.bytes.data() + 1);
  return element_of_block(weights.dtype, bytes + block * info.block_bytes,
                          static_cast<int>(col % info.block_len));
}

Matrix dequantize(const Weights& weights) {
  Matrix out(weights.num_rows, weights.num_cols);
  for (std::int64_t r = 0; r < out.num_rows; ++r) {
    for (std::int64_t c = 0; c < out.num_cols; ++c) {
      out.at(r, c) = weight_at(weights, r, c);
    }
  }
  return out;
}

double round_to(DType dtype, double value) {
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  if (value == 0.0) return value;
  const int precision = dtype == DType::kF16 ? 11 : 8;
  const int least_exponent = dtype == DType::kF16 ? -13 : -125;  // of frexp, for normal numbers
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent, least_exponent) - precision;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

Matrix matmul(const Matrix& x, const Matrix& weight) {
  Matrix out(x.num_rows, weight.num_rows);
  for (std::int64_t t = 0; t < x.num_rows; ++t) {
    for (std::int64_t r = 0; r < weight.num_rows; ++r) {
      for (std::int64_t c = 0; c < x.num_cols; ++c) {
        out.at(t, r) += weight.at(r, c) * x.at(t, c);
      }
    }
  }
  return out;
}

Matrix quantize_activations(const Matrix& x, std::int64_t group_len) {
  Matrix out = x;
  for (std::int64_t r = 0; r < x.num_rows; ++r) {
    for (std::int64_t begin = 0; begin < x.num_cols; begin += group_len) {
      double largest = 0.0;
      for (std::int64_t c = begin; c < begin + group_len; ++c) {
        largest = std::max(largest, std::fabs(x.at(r, c)));
      }
      const double step = largest / 127.0;
      for (std::int64_t c = begin; c < begin + group_len; ++c) {
        out.at(r, c) = step == 0.0 ? 0.0 : std::nearbyint(x.at(r, c) / step) * step;
      }
    }
  }
  return out;
}

Matrix rms_norm(const Matrix& x, const std::vector<float>& weight, double eps) {
  Matrix out(x.num_rows, x.num_cols);
  for (std::int64_t r = 0; r < x.num_rows; ++r) {
    double squares = 0.0;
    for (std::int64_t c = 0; c < x.num_cols; ++c) {
      squares += x.at(r, c) * x.at(r, c);
    }
    const double rms = std::sqrt(squares / static_cast<double>(x.num_cols) + eps);
    for (std::int64_t c = 0; c < x.num_cols; ++c) {
      out.at(r, c) = x.at(r, c) / rms * static_cast<double>(weight[static_cast<std::size_t>(c)]);
    }
  }
  return out;
}

Matrix silu_and_mul(const Matrix& gate_up) {
  Matrix out(gate_up.num_rows, gate_up.num_cols / 2);
  for (std::int64_t r = 0; r < out.num_rows; ++r) {
    for (std::int64_t f = 0; f < out.num_cols; ++f) {
      const double gate = gate_up.at(r, f);
      out.at(r, f) = gate / (1.0 + std::exp(-gate)) * gate_up.at(r, out.num_cols + f);
    }
  }
  return out;
}

Matrix gelu_and_mul(const Matrix& gate_up) {
  Matrix out(gate_up.num_rows, gate_up.num_cols / 2);
  const double root = std::sqrt(2.0 / std::acos(-1.0));
  for (std::int64_t r = 0; r < out.num_rows; ++r) {
    for (std::int64_t f = 0; f < out.num_cols; ++f) {
      const double x = gate_up.at(r, f);
      const double gelu = x / 2.0 * (1.0 + std::tanh(root * (x + 0.044715 * x * x * x)));
      out.at(r, f) = gelu * gate_up.at(r, out.num_cols + f);
    }
  }
  return out;
}

void rotate(std::span<double> head, std::span<const float> inv_freqs, RopeStyle style,
            std::int32_t position) {
  const std::size_t num_pairs = inv_freqs.size();
  for (std::size_t i = 0; i < num_pairs; ++i) {
    // The angle is a float in every implementation that a model was trained with.
    const float angle = static_cast<float>(position) * inv_freqs[i];
    const double cos = std::cos(static_cast<double>(angle));
    const double sin = std::sin(static_cast<double>(angle));
    const bool halves = style == RopeStyle::kHalves;
    double& first = head[halves ? i : 2 * i];
    double& second = head[halves ? i + num_pairs : 2 * i + 1];
    const double a = first;
    const double b = second;
    first = a * cos - b * sin;
    second = a * sin + b * cos;
  }
}

std::vector<double> attend(std::span<const double> q, const Matrix& k, const Matrix& v,
                           std::int64_t begin, std::int64_t end, double scale) {
  std::vector<double> weights;
  for (std::int64_t p = begin; p < end; ++p) {
    double score = 0.0;
    for (std::size_t d = 0; d < q.size(); ++d) {
      score += q[d] * k.at(p, static_cast<std::int64_t>(d));
    }
    weights.push_back(score * scale);
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  std::vector<double> out(q.size());
  for (std::int64_t p = begin; p < end; ++p) {
    const double weight = weights[static_cast<std::size_t>(p - begin)] / sum;
    for (std::size_t d = 0; d < q.size(); ++d) {
      out[d] += weight * v.at(p, static_cast<std::int64_t>(d));
    }
  }
  return out;
}

double nmse(std::span<const float> got, std::span<const double> expected) {
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - expected[i];
    error += difference * difference;
    size += expected[i] * expected[i];
  }
  return error == 0.0 ? 0.0 : error / size;
}

}  // namespace tvllm::testing::naive
