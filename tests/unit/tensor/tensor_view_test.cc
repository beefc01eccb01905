// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tvllm {
namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(MatrixViewTest, AColumnRangeKeepsTheStrideOfItsMatrix) {
  std::vector<float> values = counting(12);
  const FloatMatrix matrix(values.data(), 3, 4);
  const FloatMatrix middle = matrix.cols(1, 2);
  EXPECT_EQ(middle.num_cols, 2);
  EXPECT_EQ(middle.row(2)[0], 9.0f);
  EXPECT_EQ(middle.row_span(1)[1], 6.0f);
}

TEST(MatrixViewTest, ARowRangeStartsAtItsRow) {
  std::vector<float> values = counting(12);
  const ConstFloatMatrix rows = FloatMatrix(values.data(), 3, 4).rows(1, 2);
  EXPECT_EQ(rows.num_rows, 2);
  EXPECT_EQ(rows.row(0)[0], 4.0f);
}

TEST(TensorViewTest, FloatsSurviveTheWayThroughTheInterface) {
  std::vector<float> values = counting(12);
  const TensorView tensor = FloatMatrix(values.data(), 3, 4).cols(2, 2);
  EXPECT_EQ(tensor.dtype, DType::kF32);
  EXPECT_EQ(tensor.as_float().row(1)[1], 7.0f);
}

TEST(WeightViewTest, RowsAreWholeBlocksApart) {
  const std::vector<std::byte> file(3 * 40);
  const WeightView weights{DType::kQ4_1, 3, 64, file.data()};
  EXPECT_EQ(weights.row(2) - weights.row(0), 2 * 40);
}

}  // namespace
}  // namespace tvllm
