// SPDX-License-Identifier: Apache-2.0
// Operations of tests/parity on every instruction set that this machine has, on one thread and on
// all, in shares of what the machine can do.
#pragma once

#include <string>
#include <vector>

#include "tests/parity/op_cases.h"

namespace tvllm::bench {

struct BenchCase {
  std::string name;
  testing::OpCase op_case;
  // In a model what it reads lies in memory and not in a cache: many copies take turns.
  bool is_cold = false;
};

// The main function of a benchmark: `argv` has Google Benchmark's options. Names are
// "avx2/threads:1/NAME". GOP/s counts a multiplication and an addition, GB/s what must be moved at
// least, once. Their shares are of what bench/machine_peak measures at the start, of bytes for
// quantized weights and of floats for all else; on a busy machine repeat and take the best. A
// share of the memory above 1 is that of a cache which holds all copies.
int run_op_benches(int argc, char** argv, const std::vector<BenchCase>& cases);

}  // namespace tvllm::bench
