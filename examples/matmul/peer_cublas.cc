// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "backend/cuda/runtime/cublas.h"
#include "examples/matmul/peer.h"

namespace tvllm::examples {
namespace {

class CublasPeer : public Peer {
 public:
  explicit CublasPeer(cuda::Cublas cublas) : cublas_(std::move(cublas)) {}

  Status multiply(const Stream& stream, const Matmul<float>& product,
                  bool rounds_to_tf32) override {
    const MatmulShape shape = product.shape;
    return cublas_.matmul(stream, product.a, product.b, product.c, shape.m, shape.n, shape.k,
                          rounds_to_tf32 ? cuda::Precision::kTf32 : cuda::Precision::kF32);
  }
  Status multiply(const Stream& stream, const Matmul<Bf16>& product) override {
    const MatmulShape shape = product.shape;
    return cublas_.matmul(stream, product.a, product.b, product.c, shape.m, shape.n, shape.k);
  }

 private:
  cuda::Cublas cublas_;
};

}  // namespace

Result<std::unique_ptr<Peer>> make_peer(cuda::Device& device) {
  TVLLM_TRY(cuda::Cublas cublas, cuda::Cublas::create(device));
  return std::unique_ptr<Peer>(std::make_unique<CublasPeer>(std::move(cublas)));
}

}  // namespace tvllm::examples
