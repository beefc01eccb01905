// SPDX-License-Identifier: Apache-2.0
#include "loader/ggml_types.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tvllm::loader {
namespace {

// gguf.constants.GGMLQuantizationType of the Python package gguf 0.17.1.
const std::map<std::uint32_t, std::string> kPythonNames = {
    {0, "F32"},     {1, "F16"},    {2, "Q4_0"},     {3, "Q4_1"},    {6, "Q5_0"},     {7, "Q5_1"},
    {8, "Q8_0"},    {9, "Q8_1"},   {10, "Q2_K"},    {11, "Q3_K"},   {12, "Q4_K"},    {13, "Q5_K"},
    {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},      {25, "I16"},
    {26, "I32"},    {27, "I64"},   {28, "F64"},     {29, "IQ1_M"},  {30, "BF16"},    {34, "TQ1_0"},
    {35, "TQ2_0"},
};

TEST(GgmlTypesTest, NamesAreThoseOfThePythonPackage) {
  for (const auto& [id, name] : kPythonNames) {
    ASSERT_NE(ggml_type(id), nullptr) << id;
    EXPECT_EQ(ggml_type(id)->name, name);
  }
}

TEST(GgmlTypesTest, ASupportedTypeHasTheDTypeOfItsName) {
  int num_supported = 0;
  for (std::uint32_t id = 0; ggml_type(id) != nullptr; ++id) {
    if (!ggml_type(id)->dtype) continue;
    ++num_supported;
    EXPECT_EQ(dtype_info(*ggml_type(id)->dtype).name, ggml_type(id)->name);
  }
  EXPECT_EQ(num_supported, 11);
}

TEST(GgmlTypesTest, NumbersNeverGivenOutAreUnknown) {
  EXPECT_NE(ggml_type(40), nullptr);
  EXPECT_EQ(ggml_type(41), nullptr);
  EXPECT_EQ(ggml_type(0xffffffff), nullptr);
}

TEST(GgmlTypesTest, SupportedTypesAreListedForMessages) {
  EXPECT_EQ(supported_type_names(),
            "F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, BF16");
}

}  // namespace
}  // namespace tvllm::loader
