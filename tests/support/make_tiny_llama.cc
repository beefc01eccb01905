// SPDX-License-Identifier: Apache-2.0
// make_tiny_llama FILE [SEED]: the model of tests/support/tiny_llama.h, for tests in Python.
#include <cstdio>
#include <exception>
#include <string>

#include "tests/support/tiny_llama.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: make_tiny_llama FILE [SEED]\n", stderr);
    return 2;
  }
  try {
    const unsigned long seed = argc == 3 ? std::stoul(argv[2]) : 1;
    tvllm::testing::write_tiny_llama(argv[1], static_cast<std::uint32_t>(seed));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_tiny_llama: %s\n", error.what());
    return 1;
  }
  return 0;
}
