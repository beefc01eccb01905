// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/weight_matrix.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"

namespace tvllm::cpu {

namespace {

Status check_parts(std::span<const WeightView> parts) {
  if (parts.empty()) return invalid_argument("cpu matrix: no parts to stack");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const WeightView& part = parts[i];
    const DTypeInfo& info = dtype_info(part.dtype);
    const std::string where = str_cat("cpu matrix: part ", i, " of ", parts.size(), " (", info.name,
                                      ", ", part.num_rows, " x ", part.num_cols, ")");
    if (part.num_rows <= 0 || part.num_cols <= 0 || part.data == nullptr) {
      return invalid_argument(str_cat(where, " is empty"));
    }
    if (part.num_cols % info.block_len != 0) {
      return invalid_argument(str_cat(where, ": rows must be whole blocks of ", info.block_len));
    }
    if (part.num_cols != parts[0].num_cols) {
      return invalid_argument(
          str_cat(where, ": expected ", parts[0].num_cols, " columns as in part 0"));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<backend::Matrix>> WeightMatrix::make(const KernelTable& kernels,
                                                            ThreadPool& pool,
                                                            std::span<const WeightView> parts) {
  TVLLM_RETURN_IF_ERROR(check_parts(parts));
  std::unique_ptr<WeightMatrix> matrix(new WeightMatrix());
  for (const WeightView& part : parts) {
    matrix->parts_.push_back({part.dtype, part.num_rows, part.num_cols, part.data, nullptr});
    matrix->num_rows_ += part.num_rows;
    matrix->quantized_forms_ |= kernels.quantized_form(part.dtype);
  }
  TVLLM_RETURN_IF_ERROR(matrix->pack(kernels, pool));
  return std::unique_ptr<backend::Matrix>(std::move(matrix));
}

Status WeightMatrix::pack(const KernelTable& kernels, ThreadPool& pool) {
  constexpr std::size_t kLine = 64;
  std::vector<std::size_t> offsets;
  std::size_t total = 0;
  for (const WeightPart& part : parts_) {
    offsets.push_back(total);
    total += (kernels.packed_bytes(part) + kLine - 1) / kLine * kLine;
  }
  if (total == 0) return {};
  std::optional<HostMemory> memory = HostMemory::allocate(total);
  if (!memory.has_value()) {
    return make_error(ErrorCode::kResourceExhausted,
                      str_cat("cpu matrix: no memory for ", human_bytes(total), " of weights"));
  }
  packed_ = std::move(*memory);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (kernels.packed_bytes(parts_[i]) > 0) parts_[i].packed = packed_.data() + offsets[i];
  }
  pool.run([&](int worker_idx) {
    for_share(
        kernels.row_grain, worker_idx, pool.num_threads(),
        [&](const WeightPart& part, std::int64_t, std::int64_t row_begin, std::int64_t row_end) {
          if (part.packed == nullptr) return;
          std::byte* packed = packed_.data() + (part.packed - packed_.data());
          kernels.pack(part, packed, row_begin, row_end);
        });
  });
  return {};
}

void WeightMatrix::load_row(const KernelTable& kernels, std::int64_t row, float* out) const {
  TVLLM_DCHECK(row >= 0 && row < num_rows_, "row ", row, " of ", num_rows_);
  for (const WeightPart& part : parts_) {
    if (row < part.num_rows) return kernels.load_row(part, row, out);
    row -= part.num_rows;
  }
}

}  // namespace tvllm::cpu
