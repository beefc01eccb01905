// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/host_memory.h"
#include "backend/cpu/kernel_table.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/tensor_view.h"

namespace tvllm::cpu {

// Matrices of a file stacked along rows, each in its own type, in the layout of one kernel table:
// the file's own blocks, or panels that the table packed at load. Immutable after construction.
class WeightMatrix final : public backend::Matrix {
 public:
  // Packs on all workers of `pool`, each the rows it will compute with, so that on a machine with
  // several memory nodes they lie near it.
  static Result<std::unique_ptr<backend::Matrix>> make(const KernelTable& kernels, ThreadPool& pool,
                                                       std::span<const WeightView> parts);

  std::int64_t num_rows() const override { return num_rows_; }
  std::int64_t num_cols() const override { return parts_.front().num_cols; }
  bool reads_file() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const WeightPart& part) { return part.packed == nullptr; });
  }

  std::span<const WeightPart> parts() const { return parts_; }
  unsigned quantized_forms() const { return quantized_forms_; }

  void load_row(const KernelTable& kernels, std::int64_t row, float* out) const;

  // Calls use(part, first_row_of_part, row_begin, row_end) for the rows that are the share of one
  // worker: whole grains of each part, the last grain of a part may be short.
  template <typename Use>
  void for_share(std::int64_t grain, int worker_idx, int num_workers, Use&& use) const;

 private:
  WeightMatrix() = default;
  Status pack(const KernelTable& kernels, ThreadPool& pool);

  std::vector<WeightPart> parts_;  // not empty
  std::int64_t num_rows_ = 0;
  unsigned quantized_forms_ = 0;  // those that some part reads
  HostMemory packed_;
};

template <typename Use>
void WeightMatrix::for_share(std::int64_t grain, int worker_idx, int num_workers, Use&& use) const {
  std::int64_t num_grains = 0;
  for (const WeightPart& part : parts_) {
    num_grains += (part.num_rows + grain - 1) / grain;
  }
  std::int64_t begin = num_grains * worker_idx / num_workers;
  std::int64_t end = num_grains * (worker_idx + 1) / num_workers;
  std::int64_t first_row = 0;
  for (const WeightPart& part : parts_) {
    const std::int64_t part_grains = (part.num_rows + grain - 1) / grain;
    const std::int64_t row_begin = std::max<std::int64_t>(begin, 0) * grain;
    const std::int64_t row_end = std::min(std::min(end, part_grains) * grain, part.num_rows);
    if (row_begin < row_end) use(part, first_row, row_begin, row_end);
    begin -= part_grains;
    end -= part_grains;
    first_row += part.num_rows;
  }
}

}  // namespace tvllm::cpu
