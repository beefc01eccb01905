// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/cpu_features.h"

namespace tvllm::cpu {
namespace {

constexpr CpuIsa kNamed[] = {CpuIsa::kReference, CpuIsa::kScalar, CpuIsa::kAvx2,
                             CpuIsa::kAvxVnni,   CpuIsa::kAvx512, CpuIsa::kAvx512Vnni,
                             CpuIsa::kAmx};

TEST(CpuIsaTest, EveryNameOfTheListIsUnderstood) {
  std::istringstream list(cpu_isa_list());
  std::string name;
  int num_names = 0;
  while (std::getline(list, name, ',')) {
    name.erase(0, name.find_first_not_of(' '));
    const auto isa = parse_cpu_isa(name);
    ASSERT_TRUE(isa.has_value()) << name;
    EXPECT_EQ(cpu_isa_name(*isa), name);
    ++num_names;
  }
  EXPECT_EQ(num_names, 8);
}

TEST(CpuIsaTest, AnUnknownNameIsRefusedWithThePossibleOnes) {
  for (const char* name : {"", "AVX2", "avx2 ", "sse", "avx512_vnni2"}) {
    const auto isa = parse_cpu_isa(name);
    ASSERT_FALSE(isa.has_value()) << name;
    EXPECT_EQ(isa.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(isa.error().message,
              "--cpu-isa '" + std::string(name) +
                  "' is unknown, expected one of auto, reference, scalar, avx2, "
                  "avx_vnni, avx512, avx512_vnni, amx");
  }
}

TEST(CpuIsaTest, TheTwoPortableOnesAreAlwaysThere) {
  const std::vector<CpuIsa> available = available_cpu_isas();
  ASSERT_GE(available.size(), 2u);
  EXPECT_EQ(available[0], CpuIsa::kReference);
  EXPECT_EQ(available[1], CpuIsa::kScalar);
}

TEST(CpuIsaTest, AutoIsTheBestAvailable) {
  const auto resolved = resolve_cpu_isa(CpuIsa::kAuto);
  ASSERT_TRUE(resolved.has_value());
  EXPECT_EQ(*resolved, available_cpu_isas().back());
  EXPECT_NE(*resolved, CpuIsa::kReference);
}

TEST(CpuIsaTest, WhatIsNotAvailableIsRefusedInOneLineThatNamesWhatIs) {
  const std::vector<CpuIsa> available = available_cpu_isas();
  for (const CpuIsa isa : kNamed) {
    const auto resolved = resolve_cpu_isa(isa);
    const bool is_available = std::find(available.begin(), available.end(), isa) != available.end();
    ASSERT_EQ(resolved.has_value(), is_available) << cpu_isa_name(isa);
    if (is_available) continue;
    const Error& error = resolved.error();
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_NE(error.message.find(cpu_isa_name(isa)), std::string::npos) << error.message;
    for (const CpuIsa there : available) {
      EXPECT_NE(error.message.find(cpu_isa_name(there)), std::string::npos) << error.message;
    }
  }
}

TEST(CpuIsaTest, TheBackendBearsTheNameOfItsInstructionSet) {
  ThreadPool pool(1);
  for (const CpuIsa isa : available_cpu_isas()) {
    const auto backend = make_cpu_backend({.isa = isa}, pool);
    ASSERT_TRUE(backend.has_value());
    EXPECT_EQ((*backend)->name(), "cpu " + std::string(cpu_isa_name(isa)));
  }
}

TEST(CpuIsaTest, ABackendOfAMissingInstructionSetIsAnError) {
  const std::vector<CpuIsa> available = available_cpu_isas();
  ThreadPool pool(1);
  for (const CpuIsa isa : kNamed) {
    if (std::find(available.begin(), available.end(), isa) != available.end()) continue;
    EXPECT_FALSE(make_cpu_backend({.isa = isa}, pool).has_value()) << cpu_isa_name(isa);
  }
}

// The kernel reads the same registers and writes what it lets programs use.
TEST(CpuFeaturesTest, AreThoseOfProcCpuinfo) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  if (!line.starts_with("flags")) GTEST_SKIP() << "/proc/cpuinfo has no flags on this machine";
  std::istringstream words(line);
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  std::string expected;
  for (const char* name :
       {"avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512dq",
        "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"}) {
    if (std::find(flags.begin(), flags.end(), name) == flags.end()) continue;
    expected += expected.empty() ? "" : " ";
    expected += name;
  }
  EXPECT_EQ(describe(detect_cpu_features()), expected.empty() ? "none" : expected);
}

TEST(CpuFeaturesTest, AMachineWithoutAnySaysNone) {
  EXPECT_EQ(describe(CpuFeatures{}), "none");
}

}  // namespace
}  // namespace tvllm::cpu
