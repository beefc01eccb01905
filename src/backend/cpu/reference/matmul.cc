// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "backend/cpu/reference/kernels.h"
#include "tensor/quant_blocks.h"

namespace tvllm::cpu::reference {

namespace {

// Weight rows that are floats at the same time: each is made once a call and used for all tokens,
// and a token's x is still in the nearest cache for the last of them.
constexpr int kRows = 4;

// Float sums run over this many columns at most before they enter a double: with 16 lanes these are
// 16 additions, whose rounding stays well under 1e-6 of the sum.
constexpr std::int64_t kRunLen = 256;

// Independent sums of one run: four vectors of the narrowest instruction set, so that the compiler
// vectorizes without being allowed to reorder additions.
constexpr int kLanes = 16;

double dot(const float* a, const float* b, std::int64_t count) {
  double total = 0.0;
  std::int64_t i = 0;
  while (i + kLanes <= count) {
    const std::int64_t end = std::min(count, i + kRunLen);
    float lanes[kLanes] = {};
    for (; i + kLanes <= end; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += a[i + lane] * b[i + lane];
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      total += static_cast<double>(lanes[lane]);
    }
  }
  for (; i < count; ++i) {
    total += static_cast<double>(a[i] * b[i]);
  }
  return total;
}

// Multiplies `num_rows` rows, which `weights` holds one after another, with all tokens.
void multiply_rows(const MatmulArgs& args, const float* weights, std::int64_t first_row,
                   std::int64_t num_rows) {
  const std::int64_t num_cols = args.weight->num_cols;
  for (std::int64_t t = 0; t < args.num_tokens; ++t) {
    const float* x = args.x + t * args.x_stride;
    float* out = args.out + t * args.out_stride + first_row;
    for (std::int64_t r = 0; r < num_rows; ++r) {
      double sum = dot(weights + r * num_cols, x, num_cols);
      if (args.bias != nullptr) sum += static_cast<double>(args.bias[first_row + r]);
      out[r] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void load_row(const WeightPart& weight, std::int64_t row, float* out) {
  const std::byte* blocks = weight.blocks + row * row_bytes(weight.dtype, weight.num_cols);
  dequantize_row(weight.dtype, blocks, {out, static_cast<std::size_t>(weight.num_cols)});
}

std::size_t matmul_scratch_bytes(std::int64_t num_cols) {
  return kRows * static_cast<std::size_t>(num_cols) * sizeof(float);
}

void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
            std::byte* scratch) {
  const WeightPart& weight = *args.weight;
  float* weights = reinterpret_cast<float*>(scratch);  // [kRows, num_cols]
  for (std::int64_t row = row_begin; row < row_end; row += kRows) {
    const std::int64_t num_rows = std::min<std::int64_t>(kRows, row_end - row);
    for (std::int64_t r = 0; r < num_rows; ++r) {
      load_row(weight, row + r, weights + r * weight.num_cols);
    }
    multiply_rows(args, weights, row, num_rows);
  }
}

}  // namespace tvllm::cpu::reference
