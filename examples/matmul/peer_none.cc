// SPDX-License-Identifier: Apache-2.0
#include "examples/matmul/peer.h"

namespace tvllm::examples {

Result<std::unique_ptr<Peer>> make_peer(cuda::Device&) {
  return std::unique_ptr<Peer>();
}

}  // namespace tvllm::examples
