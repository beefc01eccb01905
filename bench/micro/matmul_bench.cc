// SPDX-License-Identifier: Apache-2.0
// The matrix products of tests/parity that have a model's size.
//
//   matmul_bench --benchmark_filter='avx2/threads:1/.*Q4_1'
#include "bench/micro/op_bench.h"

namespace {

constexpr double kLeastFlops = 8e5;

}  // namespace

int main(int argc, char** argv) {
  std::vector<tvllm::bench::BenchCase> cases;
  for (const tvllm::testing::OpCase& op_case : tvllm::testing::op_cases()) {
    if (op_case.op != tvllm::testing::OpKind::kMatmul || op_case.num_cols < 512 ||
        op_case.flops < kLeastFlops) {
      continue;
    }
    // One token's product reads each weight once.
    cases.push_back(
        {.name = name_of(op_case), .op_case = op_case, .is_cold = op_case.num_tokens == 1});
  }
  return tvllm::bench::run_op_benches(argc, argv, cases);
}
