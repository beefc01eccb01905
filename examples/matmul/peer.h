// SPDX-License-Identifier: Apache-2.0
// Whom the ladder is compared with: cuBLAS, where there is a GPU.
#pragma once

#include <memory>

#include "examples/matmul/matmul.h"

namespace tvllm::examples {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual Status multiply(const Stream& stream, const Matmul<float>& product,
                          bool rounds_to_tf32) = 0;
  virtual Status multiply(const Stream& stream, const Matmul<Bf16>& product) = 0;
};

// Null where there is none: in the emulation.
Result<std::unique_ptr<Peer>> make_peer(cuda::Device& device);

}  // namespace tvllm::examples
