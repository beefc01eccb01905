// SPDX-License-Identifier: Apache-2.0
// Loading with the n-th allocation failing, for every n: an error, never an exception or a leak.
#include <gtest/gtest.h>

#include <string>

#include "loader/gguf.h"
#include "loader/load_model_file.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/temp_path.h"
#include "tests/support/tiny_llama.h"

namespace tvllm::loader {
namespace {

// Calls `load` with the n-th allocation failing, until it needs fewer than n; returns that n.
template <typename Load>
long fail_each_allocation(bool later_fail, Load load) {
  for (long n = 0;; ++n) {
    tvllm::testing::fail_allocation_after(n, later_fail);
    const auto result = load();
    const bool has_failed = tvllm::testing::stop_failing_allocations();
    EXPECT_NE(result.has_value(), has_failed);
    if (result.has_value()) return n;
    EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted) << result.error().message;
    EXPECT_EQ(result.error().message, "out of memory");
  }
}

TEST(OutOfMemoryTest, EveryAllocationOfALoadMayFail) {
  const tvllm::testing::TempPath scratch("out_of_memory_test.gguf");
  const std::string& path = scratch.str();
  tvllm::testing::write_tiny_llama(path, 1);
  const auto load = [&path] { return load_model_file(path); };
  EXPECT_GT(fail_each_allocation(false, load), 50);
  EXPECT_GT(fail_each_allocation(true, load), 50);
  const auto open = [&path] { return GgufFile::open(path); };
  EXPECT_GT(fail_each_allocation(false, open), 10);
  EXPECT_GT(fail_each_allocation(true, open), 10);
}

}  // namespace
}  // namespace tvllm::loader
