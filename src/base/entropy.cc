// SPDX-License-Identifier: Apache-2.0
#include "base/entropy.h"

#include <random>

namespace tvllm {

std::uint64_t random_seed() {
  std::random_device device;  // getrandom or rdrand in libstdc++
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace tvllm
