// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/weight_matrix.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backend/cpu/matmul.h"
#include "backend/cpu/reference/kernels.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::cpu {
namespace {

using testing::random_tensor;
using testing::random_weights;
using testing::Tensor;
using testing::Weights;

std::string error_of(std::vector<WeightView> parts) {
  ThreadPool pool(1);
  const auto matrix = WeightMatrix::make(kReferenceKernels, pool, parts);
  return matrix.has_value() ? "" : matrix.error().message;
}

TEST(WeightMatrixTest, PartsThatDoNotStackAreRefused) {
  const Weights a = random_weights(DType::kQ4_1, 2, 64, 1);
  const Weights b = random_weights(DType::kQ4_1, 2, 32, 1);
  EXPECT_EQ(error_of({}), "cpu matrix: no parts to stack");
  EXPECT_EQ(error_of({a.view(), b.view()}),
            "cpu matrix: part 1 of 2 (Q4_1, 2 x 32): expected 64 columns as in part 0");
}

TEST(WeightMatrixTest, AnEmptyPartIsRefused) {
  const Weights a = random_weights(DType::kF32, 2, 8, 1);
  WeightView view = a.view();
  view.num_rows = 0;
  EXPECT_EQ(error_of({view}), "cpu matrix: part 0 of 1 (F32, 0 x 8) is empty");
  view = a.view();
  view.num_cols = 0;
  EXPECT_EQ(error_of({view}), "cpu matrix: part 0 of 1 (F32, 2 x 0) is empty");
  view = a.view();
  view.data = nullptr;
  EXPECT_EQ(error_of({view}), "cpu matrix: part 0 of 1 (F32, 2 x 8) is empty");
}

TEST(WeightMatrixTest, RowsThatAreNoWholeBlocksAreRefused) {
  const Weights a = random_weights(DType::kQ6_K, 2, 256, 1);
  WeightView view = a.view();
  view.num_cols = 224;
  EXPECT_EQ(error_of({view}),
            "cpu matrix: part 0 of 1 (Q6_K, 2 x 224): rows must be whole blocks of 256");
}

TEST(WeightMatrixTest, TheReferenceReadsTheFileInPlace) {
  const Weights a = random_weights(DType::kQ4_0, 3, 64, 1);
  const WeightView view = a.view();
  ThreadPool pool(1);
  const auto matrix = WeightMatrix::make(kReferenceKernels, pool, {&view, 1});
  ASSERT_TRUE(matrix.has_value());
  const auto& weights = static_cast<const WeightMatrix&>(**matrix);
  EXPECT_EQ(weights.parts()[0].blocks, view.data);
  EXPECT_EQ(weights.parts()[0].packed, nullptr);
  EXPECT_TRUE((*matrix)->reads_file());
}

TEST(WeightMatrixTest, TheSharesOfAllWorkersAreEveryRowOnceInWholeGrains) {
  const Weights weights = random_weights(DType::kF32, 40, 4, 1);
  ThreadPool pool(1);
  for (const std::vector<std::int64_t>& part_rows :
       {std::vector<std::int64_t>{1}, {40}, {17, 3, 3}, {16, 16}, {1, 1, 1, 1}, {5, 32}}) {
    std::vector<WeightView> views;
    std::int64_t num_rows = 0;
    for (const std::int64_t rows : part_rows) {
      views.push_back(weights.view());
      views.back().num_rows = rows;
      num_rows += rows;
    }
    const auto made = WeightMatrix::make(kReferenceKernels, pool, views);
    const auto& matrix = static_cast<const WeightMatrix&>(**made);
    for (const std::int64_t grain : {1, 4, 16}) {
      for (int num_workers = 1; num_workers <= 7; ++num_workers) {
        std::vector<int> seen(static_cast<std::size_t>(num_rows));
        for (int worker = 0; worker < num_workers; ++worker) {
          matrix.for_share(grain, worker, num_workers,
                           [&](const WeightPart& part, std::int64_t first, std::int64_t begin,
                               std::int64_t end) {
                             EXPECT_EQ(begin % grain, 0);
                             EXPECT_TRUE(end % grain == 0 || end == part.num_rows);
                             for (std::int64_t r = begin; r < end; ++r) {
                               ++seen[static_cast<std::size_t>(first + r)];
                             }
                           });
        }
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << grain << ", " << num_workers;
      }
    }
  }
}

// A table that packs, as the vector instruction sets will: rows of floats in reverse order.
std::size_t packed_bytes(const WeightPart& weight) {
  if (weight.dtype == DType::kF32) return 0;  // this table reads floats in place
  return static_cast<std::size_t>(weight.num_rows * weight.num_cols) * sizeof(float);
}

float* packed_row(const WeightPart& weight, const std::byte* packed, std::int64_t row) {
  auto* floats = reinterpret_cast<float*>(const_cast<std::byte*>(packed));
  return floats + (weight.num_rows - 1 - row) * weight.num_cols;
}

void pack(const WeightPart& weight, std::byte* packed, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    reference::load_row(weight, row, packed_row(weight, packed, row));
  }
}

void load_packed_row(const WeightPart& weight, std::int64_t row, float* out) {
  if (weight.packed == nullptr) return reference::load_row(weight, row, out);
  std::memcpy(out, packed_row(weight, weight.packed, row),
              static_cast<std::size_t>(weight.num_cols) * sizeof(float));
}

void multiply_packed(const MatmulArgs& args, std::int64_t begin, std::int64_t end,
                     std::byte* scratch) {
  if (args.weight->packed == nullptr) return reference::matmul(args, begin, end, scratch);
  std::vector<float> row(static_cast<std::size_t>(args.weight->num_cols));
  for (std::int64_t r = begin; r < end; ++r) {
    load_packed_row(*args.weight, r, row.data());
    const WeightPart one{DType::kF32, 1, args.weight->num_cols,
                         reinterpret_cast<const std::byte*>(row.data()), nullptr};
    MatmulArgs part = args;
    part.weight = &one;
    part.out = args.out + r;
    reference::matmul(part, 0, 1, scratch);
  }
}

KernelTable packing_table() {
  KernelTable packing = kReferenceKernels;
  packing.row_grain = 16;
  packing.packed_bytes = packed_bytes;
  packing.pack = pack;
  packing.load_row = load_packed_row;
  packing.matmul = multiply_packed;
  return packing;
}

TEST(WeightMatrixTest, AMatrixThatIsPackedNoLongerReadsTheFile) {
  const KernelTable packing = packing_table();
  const Weights weights = random_weights(DType::kQ4_1, 37, 64, 1);
  const WeightView view = weights.view();
  ThreadPool pool(1);
  EXPECT_FALSE((*WeightMatrix::make(packing, pool, {&view, 1}))->reads_file());
}

TEST(WeightMatrixTest, ATableThatPacksIsGivenItsOwnLayoutBack) {
  const KernelTable packing = packing_table();
  const Weights weights[] = {random_weights(DType::kQ4_1, 37, 64, 1),
                             random_weights(DType::kF32, 5, 64, 2),
                             random_weights(DType::kQ8_0, 18, 64, 3)};
  const std::vector<WeightView> views = {weights[0].view(), weights[1].view(), weights[2].view()};
  Tensor x = random_tensor(3, 64, 4);
  ThreadPool pool(3);
  std::vector<float> results[2];
  std::vector<float> rows[2];
  int which = 0;
  for (const KernelTable* kernels :
       {&kReferenceKernels, static_cast<const KernelTable*>(&packing)}) {
    const auto matrix = WeightMatrix::make(*kernels, pool, views);
    ASSERT_TRUE(matrix.has_value());
    const auto& made = static_cast<const WeightMatrix&>(**matrix);
    EXPECT_TRUE(made.reads_file());  // the second part is not packed
    EXPECT_EQ(made.num_rows(), 60);
    EXPECT_EQ(made.num_cols(), 64);
    Tensor out(3, 60);
    MatmulRunner(*kernels, pool).run(made, x.view(), nullptr, out.view());
    results[which] = out.data;
    for (std::int64_t r = 0; r < 60; ++r) {
      std::vector<float> row(64);
      made.load_row(*kernels, r, row.data());
      rows[which].insert(rows[which].end(), row.begin(), row.end());
    }
    ++which;
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(rows[0], rows[1]);
}

}  // namespace
}  // namespace tvllm::cpu
