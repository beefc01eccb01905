// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/scalar/activations.h"
#include "backend/cpu/scalar/kernels.h"
#include "tensor/quant_blocks.h"

namespace tvllm::cpu::scalar {

namespace {

// Weight rows that are unpacked at the same time, once a call, and used for all tokens.
constexpr int kRows = 4;

constexpr int kLeastWeightGroup = 16;

// The arrays of kRows unpacked rows, one row after another. Integers stand as 16 bits, whose
// products the narrowest instruction sets can add in pairs.
struct UnpackedRows {
  std::int16_t* values;  // [kRows, num_cols]
  float* scales;         // [kRows, num_groups]
  float* mins;           // [kRows, num_groups]
  std::int8_t* narrow;   // [num_cols], of the row that is being unpacked
  std::int64_t num_cols;
  std::int64_t num_groups;
};

UnpackedRows carve(std::byte* scratch, const WeightPart& weight) {
  const std::int64_t num_groups = weight.num_cols / quant_layout(weight.dtype).group_len;
  UnpackedRows rows;
  rows.scales = reinterpret_cast<float*>(scratch);
  rows.mins = rows.scales + kRows * num_groups;
  rows.values = reinterpret_cast<std::int16_t*>(rows.mins + kRows * num_groups);
  rows.narrow = reinterpret_cast<std::int8_t*>(rows.values + kRows * weight.num_cols);
  rows.num_cols = weight.num_cols;
  rows.num_groups = num_groups;
  return rows;
}

void unpack(const WeightPart& weight, std::int64_t first_row, int num_rows,
            const UnpackedRows& rows) {
  const std::int64_t bytes = row_bytes(weight.dtype, weight.num_cols);
  for (int r = 0; r < num_rows; ++r) {
    unpack_row(weight.dtype, weight.blocks + (first_row + r) * bytes, weight.num_cols,
               {rows.narrow, rows.scales + r * rows.num_groups, rows.mins + r * rows.num_groups});
    std::copy_n(rows.narrow, rows.num_cols, rows.values + r * rows.num_cols);
  }
}

template <int count>
int dot_integers(const std::int16_t* a, const std::int16_t* b) {
  int sum = 0;
  // g++ would peel 16 iterations into scalar code before it looks for vectors: four times slower.
#ifndef __clang__
#pragma GCC unroll 1
#endif
  for (int i = 0; i < count; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// sums[r] += one run of columns that shares a weight scale and an activation scale, after another.
template <int weight_group, bool has_min, int num_rows>
void dot_rows(const UnpackedRows& rows, const ActivationRow& x, float* sums) {
  constexpr int kRun = std::min(weight_group, kActivationGroup);
  for (std::int64_t c = 0; c < rows.num_cols; c += kRun) {
    const std::int64_t x_group = c / kActivationGroup;
    for (int r = 0; r < num_rows; ++r) {
      const std::int64_t group = r * rows.num_groups + c / weight_group;
      const int dot = dot_integers<kRun>(rows.values + r * rows.num_cols + c, x.values + c);
      sums[r] += rows.scales[group] * x.scales[x_group] * static_cast<float>(dot);
      // Groups of 16 have no minimum, so a run with one is a whole activation group.
      if constexpr (has_min) sums[r] += rows.mins[group] * x.sums[x_group];
    }
  }
}

template <int weight_group, bool has_min, int num_rows>
void multiply_rows(const MatmulArgs& args, const UnpackedRows& rows, std::int64_t first_row) {
  for (std::int64_t t = 0; t < args.num_tokens; ++t) {
    const ActivationRow x =
        activation_row(args.quantized + t * args.quantized_stride, rows.num_cols);
    float sums[num_rows] = {};
    dot_rows<weight_group, has_min, num_rows>(rows, x, sums);
    float* out = args.out + t * args.out_stride + first_row;
    for (int r = 0; r < num_rows; ++r) {
      out[r] = args.bias == nullptr ? sums[r] : sums[r] + args.bias[first_row + r];
    }
  }
}

template <int weight_group, bool has_min>
void multiply_range(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                    std::byte* scratch) {
  const UnpackedRows rows = carve(scratch, *args.weight);
  std::int64_t row = row_begin;
  for (; row + kRows <= row_end; row += kRows) {
    unpack(*args.weight, row, kRows, rows);
    multiply_rows<weight_group, has_min, kRows>(args, rows, row);
  }
  for (; row < row_end; ++row) {
    unpack(*args.weight, row, 1, rows);
    multiply_rows<weight_group, has_min, 1>(args, rows, row);
  }
}

}  // namespace

std::size_t matmul_scratch_bytes(std::int64_t num_cols) {
  const auto cols = static_cast<std::size_t>(num_cols);
  const std::size_t groups = cols / kLeastWeightGroup;
  const std::size_t unpacked =
      kRows * (2 * groups * sizeof(float) + cols * sizeof(std::int16_t)) + cols;
  return std::max(unpacked, reference::matmul_scratch_bytes(num_cols));
}

void matmul(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
            std::byte* scratch) {
  if (!is_quantized(args.weight->dtype)) {
    return reference::matmul(args, row_begin, row_end, scratch);
  }
  const QuantLayout layout = quant_layout(args.weight->dtype);
  if (layout.group_len == 16) {
    multiply_range<16, false>(args, row_begin, row_end, scratch);
  } else if (layout.has_min) {
    multiply_range<32, true>(args, row_begin, row_end, scratch);
  } else {
    multiply_range<32, false>(args, row_begin, row_end, scratch);
  }
}

}  // namespace tvllm::cpu::scalar
