// SPDX-License-Identifier: Apache-2.0
// Every instruction set of this build that the machine has, on every case, with 1 and 3 threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "backend/cpu/cpu_backend.h"
#include "tests/parity/op_cases.h"
#include "tests/parity/prepared_op.h"
#include "tests/support/ops/naive_ops.h"

namespace tvllm::testing {
namespace {

using cpu::CpuIsa;

constexpr CpuIsa kNamedIsas[] = {CpuIsa::kReference, CpuIsa::kScalar, CpuIsa::kAvx2,
                                 CpuIsa::kAvxVnni,   CpuIsa::kAvx512, CpuIsa::kAvx512Vnni,
                                 CpuIsa::kAmx};

constexpr OpKind kOps[] = {OpKind::kEmbed,     OpKind::kRmsNorm,    OpKind::kAddRmsNorm,
                           OpKind::kMatmul,    OpKind::kRopeTables, OpKind::kRopeAndWriteKv,
                           OpKind::kAttention, OpKind::kSiluAndMul, OpKind::kGeluAndMul,
                           OpKind::kGatherRows};

class CpuParityTest : public ::testing::TestWithParam<std::tuple<CpuIsa, OpKind>> {};

TEST_P(CpuParityTest, AgreesWithTheNaiveLoops) {
  const auto [isa, op] = GetParam();
  const bool quantizes = isa != CpuIsa::kReference;
  ThreadPool one_thread(1);
  ThreadPool three_threads(3);
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op != op) continue;
    std::vector<double> expected;
    for (ThreadPool* pool : {&one_thread, &three_threads}) {
      auto backend = cpu::make_cpu_backend({.isa = isa}, *pool);
      ASSERT_TRUE(backend.has_value()) << backend.error().message;
      const std::unique_ptr<PreparedOp> prepared = prepare(**backend, op_case);
      prepared->run();
      if (expected.empty()) expected = prepared->expected();
      const double error = naive::nmse(prepared->result(), expected);
      // A NaN is no success.
      EXPECT_TRUE(error <= (quantizes ? op_case.quantized_tolerance : op_case.tolerance))
          << name_of(op_case) << ", " << pool->num_threads() << " threads: NMSE " << error;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, CpuParityTest,
                         ::testing::Combine(::testing::ValuesIn(cpu::available_cpu_isas()),
                                            ::testing::ValuesIn(kOps)),
                         [](const auto& tested) {
                           return std::string(cpu::cpu_isa_name(std::get<0>(tested.param))) + "_" +
                                  std::string(name_of(std::get<1>(tested.param)));
                         });

// Says in every test run what it did not cover.
class UnavailableIsaTest : public ::testing::TestWithParam<CpuIsa> {};

TEST_P(UnavailableIsaTest, IsNotCovered) {
  const auto resolved = cpu::resolve_cpu_isa(GetParam());
  ASSERT_FALSE(resolved.has_value());
  GTEST_SKIP() << resolved.error().message;
}

std::vector<CpuIsa> unavailable_isas() {
  const std::vector<CpuIsa> available = cpu::available_cpu_isas();
  std::vector<CpuIsa> missing;
  for (const CpuIsa isa : kNamedIsas) {
    if (std::find(available.begin(), available.end(), isa) == available.end()) {
      missing.push_back(isa);
    }
  }
  return missing;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnavailableIsaTest);
INSTANTIATE_TEST_SUITE_P(Isas, UnavailableIsaTest, ::testing::ValuesIn(unavailable_isas()),
                         [](const auto& tested) {
                           return std::string(cpu::cpu_isa_name(tested.param));
                         });

TEST(OpCasesTest, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const OpCase& op_case : op_cases()) {
    EXPECT_TRUE(names.insert(name_of(op_case)).second) << name_of(op_case);
  }
  EXPECT_GT(names.size(), 500u);
}

}  // namespace
}  // namespace tvllm::testing
