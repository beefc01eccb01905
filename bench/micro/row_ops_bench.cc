// SPDX-License-Identifier: Apache-2.0
// The operations of tests/parity that work on rows alone, for 64 tokens of a model's width: norms,
// gates, gathering.
//
//   row_ops_bench --benchmark_filter='avx2/threads:1'
#include "bench/micro/op_bench.h"

int main(int argc, char** argv) {
  using tvllm::testing::OpKind;
  std::vector<tvllm::bench::BenchCase> cases;
  for (const tvllm::testing::OpCase& op_case : tvllm::testing::op_cases()) {
    const bool is_row_op = op_case.op == OpKind::kRmsNorm || op_case.op == OpKind::kAddRmsNorm ||
                           op_case.op == OpKind::kSiluAndMul || op_case.op == OpKind::kGeluAndMul ||
                           op_case.op == OpKind::kGatherRows;
    if (!is_row_op || op_case.num_tokens != 64) continue;
    cases.push_back({.name = name_of(op_case), .op_case = op_case});
  }
  return tvllm::bench::run_op_benches(argc, argv, cases);
}
