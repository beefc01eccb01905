// SPDX-License-Identifier: Apache-2.0
#include "loader/ggml_types.h"

#include <array>

namespace tvllm::loader {

namespace {

// Indexed by the stored number. Numbers 4, 5, 31-33 and 36-38 were taken back by GGML; files with
// them exist.
constexpr std::array<GgmlType, 41> kTypes = {{
    {"F32", DType::kF32},          // 0
    {"F16", DType::kF16},          // 1
    {"Q4_0", DType::kQ4_0},        // 2
    {"Q4_1", DType::kQ4_1},        // 3
    {"Q4_2", std::nullopt},        // 4
    {"Q4_3", std::nullopt},        // 5
    {"Q5_0", DType::kQ5_0},        // 6
    {"Q5_1", DType::kQ5_1},        // 7
    {"Q8_0", DType::kQ8_0},        // 8
    {"Q8_1", std::nullopt},        // 9
    {"Q2_K", std::nullopt},        // 10
    {"Q3_K", std::nullopt},        // 11
    {"Q4_K", DType::kQ4_K},        // 12
    {"Q5_K", DType::kQ5_K},        // 13
    {"Q6_K", DType::kQ6_K},        // 14
    {"Q8_K", std::nullopt},        // 15
    {"IQ2_XXS", std::nullopt},     // 16
    {"IQ2_XS", std::nullopt},      // 17
    {"IQ3_XXS", std::nullopt},     // 18
    {"IQ1_S", std::nullopt},       // 19
    {"IQ4_NL", std::nullopt},      // 20
    {"IQ3_S", std::nullopt},       // 21
    {"IQ2_S", std::nullopt},       // 22
    {"IQ4_XS", std::nullopt},      // 23
    {"I8", std::nullopt},          // 24
    {"I16", std::nullopt},         // 25
    {"I32", std::nullopt},         // 26
    {"I64", std::nullopt},         // 27
    {"F64", std::nullopt},         // 28
    {"IQ1_M", std::nullopt},       // 29
    {"BF16", DType::kBF16},        // 30
    {"Q4_0_4_4", std::nullopt},    // 31
    {"Q4_0_4_8", std::nullopt},    // 32
    {"Q4_0_8_8", std::nullopt},    // 33
    {"TQ1_0", std::nullopt},       // 34
    {"TQ2_0", std::nullopt},       // 35
    {"IQ4_NL_4_4", std::nullopt},  // 36
    {"IQ4_NL_4_8", std::nullopt},  // 37
    {"IQ4_NL_8_8", std::nullopt},  // 38
    {"MXFP4", std::nullopt},       // 39
    {"NVFP4", std::nullopt},       // 40
}};

}  // namespace

const GgmlType* ggml_type(std::uint32_t id) {
  return id < kTypes.size() ? &kTypes[id] : nullptr;
}

std::string supported_type_names() {
  std::string names;
  for (const GgmlType& type : kTypes) {
    if (!type.dtype) continue;
    if (!names.empty()) names += ", ";
    names += type.name;
  }
  return names;
}

}  // namespace tvllm::loader
