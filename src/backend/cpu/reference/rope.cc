// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "backend/cpu/reference/kernels.h"
#include "tensor/half.h"

namespace tvllm::cpu::reference {

namespace {

void rotate_head(float* head, const float* cos, const float* sin, int rope_dim, bool pairs_halves) {
  const int num_pairs = rope_dim / 2;
  const int first_step = pairs_halves ? 1 : 2;
  const int second_offset = pairs_halves ? num_pairs : 1;
  for (int i = 0; i < num_pairs; ++i) {
    float& first = head[i * first_step];
    float& second = head[i * first_step + second_offset];
    const float a = first;
    const float b = second;
    first = a * cos[i] - b * sin[i];
    second = b * cos[i] + a * sin[i];
  }
}

void store_elements(const float* values, int count, DType dtype, std::byte* out) {
  if (dtype == DType::kF32) {
    std::memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (int i = 0; i < count; ++i) {
    const std::uint16_t bits =
        dtype == DType::kF16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
    std::memcpy(out + 2 * i, &bits, sizeof(bits));
  }
}

}  // namespace

void rope_and_store(const RopeStoreArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  const KvLayer& kv = args.kv;
  const std::int64_t element_bytes = kv.dtype == DType::kF32 ? 4 : 2;
  for (std::int64_t t = token_begin; t < token_end; ++t) {
    float* q = args.qkv + t * args.qkv_stride;
    float* k = q + std::int64_t{args.num_heads} * kv.head_dim;
    const float* v = k + std::int64_t{args.num_kv_heads} * kv.head_dim;
    const float* cos = args.cos_sin + t * args.cos_sin_stride;
    const float* sin = cos + args.rope_dim / 2;
    for (int h = 0; h < args.num_heads + args.num_kv_heads; ++h) {
      rotate_head(q + std::int64_t{h} * kv.head_dim, cos, sin, args.rope_dim, args.pairs_halves);
    }
    const std::int64_t block = args.slots[t] / kv.block_size;
    const std::int64_t offset = args.slots[t] % kv.block_size * kv.head_dim * element_bytes;
    for (int h = 0; h < args.num_kv_heads; ++h) {
      const std::int64_t head = std::int64_t{h} * kv.head_dim;
      std::byte* out = kv.base + block * kv.block_bytes + h * kv.head_bytes + offset;
      store_elements(k + head, kv.head_dim, kv.dtype, out);
      store_elements(v + head, kv.head_dim, kv.dtype, out + kv.v_offset);
    }
  }
}

}  // namespace tvllm::cpu::reference
