// SPDX-License-Identifier: Apache-2.0
// The expected floats were written by tools/make_quant_golden.py with Python's gguf package.
#include "tensor/quant_blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace tvllm {
namespace {

constexpr DType kAll[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                          DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                          DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

std::vector<std::byte> read_file(const std::string& name) {
  std::ifstream file(std::string(TVLLM_TEST_DATA) + "/tensor/" + name, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(chars.size());
  if (!chars.empty()) std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

struct Golden {
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

Golden golden_of(DType dtype) {
  const std::string name(dtype_info(dtype).name);
  const std::vector<std::byte> floats = read_file(name + ".f32");
  Golden golden{read_file(name + ".blocks"), std::vector<float>(floats.size() / sizeof(float))};
  if (!floats.empty()) std::memcpy(golden.values.data(), floats.data(), floats.size());
  return golden;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// F32 has no golden file: CopiesFloats covers it.
class GoldenBlocksTest : public testing::TestWithParam<DType> {};
class QuantBlocksTest : public testing::TestWithParam<DType> {};

TEST_P(GoldenBlocksTest, DequantizesToTheBitsOfPythonGguf) {
  const Golden golden = golden_of(GetParam());
  const DTypeInfo& info = dtype_info(GetParam());
  ASSERT_FALSE(golden.values.empty());
  ASSERT_EQ(static_cast<std::int64_t>(golden.blocks.size()),
            static_cast<std::int64_t>(golden.values.size()) / info.block_len * info.block_bytes);
  std::vector<float> out(golden.values.size());
  dequantize_row(GetParam(), golden.blocks.data(), out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_TRUE(same_bits(out[i], golden.values[i]))
        << "element " << i << ": " << out[i] << ", expected " << golden.values[i];
  }
}

TEST_P(GoldenBlocksTest, ReadsBlocksAtAnyAddress) {
  const Golden golden = golden_of(GetParam());
  std::vector<std::byte> shifted(golden.blocks.size() + 1);
  std::memcpy(shifted.data() + 1, golden.blocks.data(), golden.blocks.size());
  std::vector<float> out(golden.values.size());
  dequantize_row(GetParam(), shifted.data() + 1, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_TRUE(same_bits(out[i], golden.values[i])) << i;
  }
}

TEST_P(QuantBlocksTest, IntegersScalesAndMinimumsMakeTheSameFloats) {
  const Golden golden = golden_of(GetParam());
  const QuantLayout layout = quant_layout(GetParam());
  const std::size_t num_groups = golden.values.size() / static_cast<std::size_t>(layout.group_len);
  std::vector<std::int8_t> values(golden.values.size());
  std::vector<float> scales(num_groups);
  std::vector<float> mins(layout.has_min ? num_groups : 0);
  unpack_row(GetParam(), golden.blocks.data(), static_cast<std::int64_t>(values.size()),
             {values.data(), scales.data(), layout.has_min ? mins.data() : nullptr});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t group = i / static_cast<std::size_t>(layout.group_len);
    float value = scales[group] * static_cast<float>(values[i]);
    if (layout.has_min) value += mins[group];
    ASSERT_TRUE(same_bits(value, golden.values[i])) << i;
  }
}

std::string type_name(const testing::TestParamInfo<DType>& tested) {
  return std::string(dtype_info(tested.param).name);
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenBlocksTest, testing::ValuesIn(std::span(kAll).subspan(1)),
                         type_name);
INSTANTIATE_TEST_SUITE_P(Types, QuantBlocksTest, testing::ValuesIn(std::span(kAll).subspan(3)),
                         type_name);

TEST(DequantizeRowTest, CopiesFloats) {
  const std::vector<float> values = {1.5f, -0.0f, 3e38f};
  std::vector<std::byte> bytes(1 + values.size() * sizeof(float));
  std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(float));
  std::vector<float> out(values.size());
  dequantize_row(DType::kF32, bytes.data() + 1, out);
  EXPECT_EQ(out, values);
  EXPECT_TRUE(std::signbit(out[1]));
}

TEST(DequantizeRowTest, TakesAnEmptyRow) {
  for (const DType dtype : kAll) {
    dequantize_row(dtype, nullptr, {});
  }
}

TEST(DTypeTest, RowBytesCountWholeBlocks) {
  EXPECT_EQ(row_bytes(DType::kF32, 3), 12);
  EXPECT_EQ(row_bytes(DType::kBF16, 3), 6);
  EXPECT_EQ(row_bytes(DType::kQ4_1, 576), 18 * 20);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 512), 2 * 210);
}

TEST(DTypeTest, NamesAreThoseOfGguf) {
  EXPECT_EQ(dtype_info(DType::kF32).name, "F32");
  EXPECT_EQ(dtype_info(DType::kQ8_0).name, "Q8_0");
  EXPECT_EQ(dtype_info(DType::kQ6_K).name, "Q6_K");
}

}  // namespace
}  // namespace tvllm
