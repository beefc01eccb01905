// SPDX-License-Identifier: Apache-2.0
// Once the largest batch was seen, a step allocates nothing. A binary of its own: it replaces
// operator new.
#include <gtest/gtest.h>

#include <string>

#include "backend/cpu/cpu_backend.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/ops/ragged_batch.h"
#include "tests/unit/backend_cpu/tiny_model.h"

namespace tvllm::testing {
namespace {

class AllocationTest : public ::testing::TestWithParam<cpu::CpuIsa> {};

TEST_P(AllocationTest, AStepAllocatesNothingOnceTheLargestBatchWasSeen) {
  ThreadPool pool(2);
  auto backend = cpu::make_cpu_backend({.isa = GetParam()}, pool);
  ASSERT_TRUE(backend.has_value());
  TinyModel model(**backend, {.max_tokens = 64});
  BlockDealer dealer(256, 16, 1);
  const std::vector<BlockId> long_blocks = dealer.take(600);
  const std::vector<BlockId> short_blocks = dealer.take(40);
  RaggedBatch largest(16);
  largest.add({600, 30, long_blocks, {}});
  largest.add({40, 34, short_blocks, {}});
  RaggedBatch decodes(16);
  decodes.add({600, 1, long_blocks, {}});
  decodes.add({40, 1, short_blocks, {}});
  const std::uint64_t at_start = num_allocations();
  model.forward(largest.view());
  model.forward(decodes.view());
  const std::uint64_t after_first = num_allocations();
  if (after_first == at_start) GTEST_SKIP() << "the sanitizer's operator new is not counted";
  for (int i = 0; i < 3; ++i) {
    model.forward(largest.view());
    model.forward(decodes.view());
  }
  EXPECT_EQ(num_allocations(), after_first);
}

INSTANTIATE_TEST_SUITE_P(Isas, AllocationTest, ::testing::ValuesIn(cpu::available_cpu_isas()),
                         [](const auto& tested) {
                           return std::string(cpu::cpu_isa_name(tested.param));
                         });

}  // namespace
}  // namespace tvllm::testing
