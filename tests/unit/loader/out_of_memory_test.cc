// SPDX-License-Identifier: Apache-2.0
// Loading with the n-th allocation failing, for every n: an error, never an exception or a leak.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>

#include "loader/gguf.h"
#include "loader/load_model_file.h"
#include "tests/support/tiny_llama.h"

namespace {

// Allocations until the one that fails; negative: none does. One thread only.
long allocations_left = -1;
bool all_later_fail = false;

}  // namespace

void* operator new(std::size_t num_bytes) {
  if (allocations_left == 0) {
    if (!all_later_fail) allocations_left = -1;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
  void* memory = std::malloc(num_bytes == 0 ? 1 : num_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace tvllm::loader {
namespace {

// Calls `load` with the n-th allocation failing until one call needs fewer than n; returns n.
template <typename Load>
long fail_each_allocation(bool later_fail, Load load) {
  for (long n = 0;; ++n) {
    all_later_fail = later_fail;
    allocations_left = n;
    const auto result = load();
    const bool reached = allocations_left <= 0;
    allocations_left = -1;
    if (result.has_value()) return n;
    EXPECT_TRUE(reached);
    EXPECT_EQ(result.error().code, ErrorCode::kResourceExhausted) << result.error().message;
    EXPECT_EQ(result.error().message, "out of memory");
  }
}

TEST(OutOfMemoryTest, EveryAllocationOfALoadMayFail) {
  const std::string path = ::testing::TempDir() + "/out_of_memory_test.gguf";
  tvllm::testing::write_tiny_llama(path, 1);
  const auto load = [&path] { return load_model_file(path); };
  EXPECT_GT(fail_each_allocation(false, load), 50);
  EXPECT_GT(fail_each_allocation(true, load), 50);
  const auto open = [&path] { return GgufFile::open(path); };
  EXPECT_GT(fail_each_allocation(false, open), 10);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tvllm::loader
