// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tvllm::testing {

// How often operator new ran in this process, on all threads. A test binary that links
// allocation_counter.cc counts; "a steady step allocates nothing" is then a test.
std::uint64_t num_allocations();

}  // namespace tvllm::testing
