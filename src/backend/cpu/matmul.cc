// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/matmul.h"

namespace tvllm::cpu {

namespace {

// Fewer elements are quantized on the calling thread: a region costs about as much as 8,192 of
// them.
constexpr std::int64_t kLeastParallelElements = 16384;

}  // namespace

void MatmulRunner::run(const WeightMatrix& weight, ConstFloatMatrix x, const float* bias,
                       FloatMatrix out) {
  if (x.num_rows == 0) return;
  const int num_workers = pool_.num_threads();
  worker_scratch_.reserve(num_workers, kernels_.matmul_scratch_bytes(x.num_cols));
  MatmulArgs args;
  args.num_tokens = x.num_rows;
  args.x = x.data;
  args.x_stride = x.row_stride;
  args.out_stride = out.row_stride;
  if (const unsigned forms = weight.quantized_forms(); forms != 0) {
    const std::size_t row_bytes = kernels_.quantized_row_bytes(x.num_cols, forms);
    quantize(x, forms, row_bytes);
    args.quantized_forms = forms;
    args.quantized = quantized_.slice(0);
    args.quantized_stride = static_cast<std::int64_t>(row_bytes);
  }
  pool_.run([&](int worker_idx) {
    weight.for_share(kernels_.row_grain, worker_idx, num_workers,
                     [&](const WeightPart& part, std::int64_t first_row, std::int64_t row_begin,
                         std::int64_t row_end) {
                       MatmulArgs part_args = args;
                       part_args.weight = &part;
                       part_args.bias = bias == nullptr ? nullptr : bias + first_row;
                       part_args.out = out.data + first_row;
                       kernels_.matmul(part_args, row_begin, row_end,
                                       worker_scratch_.slice(worker_idx));
                     });
  });
}

void MatmulRunner::quantize(ConstFloatMatrix x, unsigned forms, std::size_t row_bytes) {
  quantized_.reserve(1, row_bytes * static_cast<std::size_t>(x.num_rows));
  const auto rows = [&](std::size_t begin, std::size_t end) {
    kernels_.quantize_rows(x.row(static_cast<std::int64_t>(begin)), x.row_stride,
                           static_cast<std::int64_t>(end - begin), x.num_cols, forms,
                           quantized_.slice(0) + begin * row_bytes);
  };
  const auto num_rows = static_cast<std::size_t>(x.num_rows);
  if (x.num_rows * x.num_cols < kLeastParallelElements) {
    rows(0, num_rows);
  } else {
    pool_.parallel_for(num_rows, 1, rows);
  }
}

}  // namespace tvllm::cpu
