// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/panel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/reference/kernels.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::cpu {
namespace {

using testing::random_weights;
using testing::Weights;

constexpr DType kAllTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                               DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                               DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

WeightPart part_of(const Weights& weights) {
  const WeightView view = weights.view();
  return {view.dtype, view.num_rows, view.num_cols, view.data, nullptr};
}

struct Packed {
  explicit Packed(const Weights& weights, std::int64_t cut = 0) : part(part_of(weights)) {
    bytes.resize(panel_bytes(part));
    pack_panels(part, bytes.data(), 0, cut);
    pack_panels(part, bytes.data(), cut, part.num_rows);
    part.packed = bytes.data();
  }
  WeightPart part;
  std::vector<std::byte> bytes;
};

// Of the block formats of quant_blocks.h: 6.5625 bits of Q6_K grow to 9.0625.
TEST(PanelTest, PanelsAreAsLargeAsTheFileOrNearlySo) {
  const std::pair<DType, double> kBitsPerWeight[] = {
      {DType::kF32, 32},     {DType::kF16, 16},     {DType::kBF16, 16},    {DType::kQ4_0, 4.5},
      {DType::kQ4_1, 5},     {DType::kQ5_0, 5.5},   {DType::kQ5_1, 6},     {DType::kQ8_0, 8.5},
      {DType::kQ4_K, 4.625}, {DType::kQ5_K, 5.625}, {DType::kQ6_K, 9.0625}};
  for (const auto& [dtype, bits] : kBitsPerWeight) {
    WeightPart part;
    part.dtype = dtype;
    part.num_rows = 32;
    part.num_cols = 512;
    EXPECT_EQ(static_cast<double>(panel_bytes(part)), 32 * 512 * bits / 8)
        << dtype_info(dtype).name;
    part.num_rows = 17;
    EXPECT_EQ(static_cast<double>(panel_bytes(part)), 32 * 512 * bits / 8)
        << dtype_info(dtype).name;
  }
}

TEST(PanelTest, ARowComesBackToTheBit) {
  for (const DType dtype : kAllTypes) {
    const Weights weights = random_weights(dtype, 37, 512, 5);
    const Packed packed(weights);
    for (std::int64_t row = 0; row < 37; ++row) {
      std::vector<float> expected(512);
      reference::load_row(packed.part, row, expected.data());
      std::vector<float> found(512);
      load_panel_row(packed.part, row, found.data());
      ASSERT_EQ(std::memcmp(found.data(), expected.data(), 512 * sizeof(float)), 0)
          << dtype_info(dtype).name << ", row " << row;
    }
  }
}

TEST(PanelTest, WorkersMayPackWholePanelsInAnyOrder) {
  for (const DType dtype : kAllTypes) {
    const Weights weights = random_weights(dtype, 37, 256, 5);
    EXPECT_EQ(Packed(weights, 16).bytes, Packed(weights).bytes) << dtype_info(dtype).name;
    EXPECT_EQ(Packed(weights, 32).bytes, Packed(weights).bytes) << dtype_info(dtype).name;
  }
}

// A kernel multiplies them and throws the results away: they must not be NaNs that slow it down.
TEST(PanelTest, RowsPastTheEndAreZeros) {
  for (const DType dtype : kAllTypes) {
    const Weights weights = random_weights(dtype, 3, 256, 5);
    const Packed packed(weights);
    for (std::int64_t row = 3; row < kPanelRows; ++row) {
      std::vector<float> found(256, 1.0f);
      load_panel_row(packed.part, row, found.data());
      EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](float v) { return v == 0.0f; }))
          << dtype_info(dtype).name << ", row " << row;
    }
  }
}

}  // namespace
}  // namespace tvllm::cpu
