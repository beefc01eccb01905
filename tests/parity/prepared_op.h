// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "tests/parity/op_cases.h"

namespace tvllm::testing {

// One case with its operands in a backend's memory. Tests run it once and compare; benchmarks run
// it many times.
class PreparedOp {
 public:
  virtual ~PreparedOp() = default;
  virtual void run() = 0;
  // After run(): what it wrote, row by row.
  virtual std::vector<float> result() = 0;
  // By the naive loops; takes its time.
  virtual std::vector<double> expected() = 0;
};

// `backend` outlives the operation and computes in host memory. Operands come from seeds, so the
// same case has the same operands on every backend.
std::unique_ptr<PreparedOp> prepare(backend::Backend& backend, const OpCase& op_case);

}  // namespace tvllm::testing
