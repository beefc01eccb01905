// SPDX-License-Identifier: Apache-2.0
// Operations on one row at a time: norms, gates, rotations.
#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/avx512/math.h"
#include "tensor/half.h"

namespace tvllm::cpu::avx512 {

namespace {

// Sixteen columns, and the last ones of a row, which are fewer.
struct AllLanes {
  TVLLM_INLINE __m512 load(const float* p) const { return _mm512_loadu_ps(p); }
  TVLLM_INLINE void store(float* p, __m512 v) const { _mm512_storeu_ps(p, v); }
};
struct FirstLanes {
  __mmask16 mask;
  TVLLM_INLINE __m512 load(const float* p) const { return _mm512_maskz_loadu_ps(mask, p); }
  TVLLM_INLINE void store(float* p, __m512 v) const { _mm512_mask_storeu_ps(p, mask, v); }
};

// Calls body(c, lanes) for the columns c .. c + 15, or as many as are left.
template <typename Body>
TVLLM_INLINE void for_columns(std::int64_t num_cols, Body&& body) {
  std::int64_t c = 0;
  for (; c + 16 <= num_cols; c += 16) {
    body(c, AllLanes{});
  }
  if (c < num_cols) body(c, FirstLanes{first_lanes(num_cols - c)});
}

// Pairs are neighbours: cosines and sines are spread over both lanes of a pair, sines with a minus
// in the first one.
void rotate_neighbours(float* head, const float* cos, const float* sin, int rope_dim) {
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  const __m512 minus = _mm512_castsi512_ps(_mm512_set1_epi64(0x80000000));
  for (int i = 0; i < rope_dim; i += 16) {
    const __mmask16 lanes = first_lanes(rope_dim - i);
    const __mmask16 pairs = first_lanes((rope_dim - i) / 2);
    const auto spread = [&](const float* p) {
      return _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(pairs & 0xff, p));
    };
    const __m512 x = _mm512_maskz_loadu_ps(lanes, head + i);
    const __m512 swapped = _mm512_permute_ps(x, 0xb1);
    const __m512 by_sin = _mm512_mul_ps(swapped, _mm512_xor_ps(spread(sin + i / 2), minus));
    const __m512 rotated = _mm512_add_ps(_mm512_mul_ps(x, spread(cos + i / 2)), by_sin);
    _mm512_mask_storeu_ps(head + i, lanes, rotated);
  }
}

// Pairs are half of rope_dim apart.
void rotate_halves(float* head, const float* cos, const float* sin, int rope_dim) {
  const int num_pairs = rope_dim / 2;
  float* other = head + num_pairs;
  for_columns(num_pairs, [&](std::int64_t i, auto lanes) {
    const __m512 a = lanes.load(head + i);
    const __m512 b = lanes.load(other + i);
    const __m512 c = lanes.load(cos + i);
    const __m512 s = lanes.load(sin + i);
    const __m512 first = _mm512_sub_ps(_mm512_mul_ps(a, c), _mm512_mul_ps(b, s));
    const __m512 second = _mm512_add_ps(_mm512_mul_ps(b, c), _mm512_mul_ps(a, s));
    lanes.store(head + i, first);
    lanes.store(other + i, second);
  });
}

void store_elements(const float* values, int count, DType dtype, std::byte* out) {
  if (dtype == DType::kF32) {
    __builtin_memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  int i = 0;
  if (dtype == DType::kF16) {
    for (; i + 16 <= count; i += 16) {
      const __m256i halves =
          _mm512_cvtps_ph(_mm512_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 2 * i), halves);
    }
  }
  for (; i < count; ++i) {
    const std::uint16_t bits =
        dtype == DType::kF16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
    __builtin_memcpy(out + 2 * i, &bits, sizeof(bits));
  }
}

// out = gate * sigmoid(argument(gate)) * up
template <typename Argument>
TVLLM_INLINE void gate_rows(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end,
                            Argument&& argument) {
  const __m512 one = _mm512_set1_ps(1.0f);
  for (std::int64_t t = token_begin; t < token_end; ++t) {
    const float* gates = args.gate_up + t * args.gate_up_stride;
    const float* ups = gates + args.num_cols;
    float* out = args.out + t * args.out_stride;
    for_columns(args.num_cols, [&](std::int64_t c, auto lanes) {
      const __m512 gate = lanes.load(gates + c);
      const __m512 up = lanes.load(ups + c);
      const __m512 exp = exp_of(_mm512_sub_ps(_mm512_setzero_ps(), argument(gate)));
      const __m512 activated = _mm512_div_ps(gate, _mm512_add_ps(one, exp));
      lanes.store(out + c, _mm512_mul_ps(activated, up));
    });
  }
}

}  // namespace

void rms_norm(const NormArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  for (std::int64_t t = token_begin; t < token_end; ++t) {
    float* x = args.x + t * args.x_stride;
    float* out = args.out + t * args.out_stride;
    if (args.delta != nullptr) {
      const float* delta = args.delta + t * args.delta_stride;
      for_columns(args.num_cols, [&](std::int64_t c, auto lanes) {
        const __m512 sum = _mm512_add_ps(lanes.load(x + c), lanes.load(delta + c));
        lanes.store(x + c, sum);
      });
    }
    __m512 squares = _mm512_setzero_ps();
    for_columns(args.num_cols, [&](std::int64_t c, auto lanes) {
      const __m512 value = lanes.load(x + c);
      squares = _mm512_fmadd_ps(value, value, squares);
    });
    const double mean =
        static_cast<double>(sum_lanes(squares)) / static_cast<double>(args.num_cols);
    const double root = __builtin_sqrt(mean + static_cast<double>(args.eps));
    const __m512 scale = _mm512_set1_ps(static_cast<float>(1.0 / root));
    for_columns(args.num_cols, [&](std::int64_t c, auto lanes) {
      const __m512 scaled = _mm512_mul_ps(lanes.load(x + c), scale);
      const __m512 weight = lanes.load(args.weight + c);
      lanes.store(out + c, _mm512_mul_ps(scaled, weight));
    });
  }
}

void silu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  gate_rows(args, token_begin, token_end, [](auto x) { return x; });
}

void gelu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  const __m512 linear = _mm512_set1_ps(kGeluLinear);
  const __m512 cubic = _mm512_set1_ps(kGeluCubic);
  gate_rows(args, token_begin, token_end, [=](auto x) {
    return _mm512_mul_ps(x, _mm512_fmadd_ps(_mm512_mul_ps(cubic, x), x, linear));
  });
}

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
      float* head = q + std::int64_t{h} * kv.head_dim;
      if (args.pairs_halves) {
        rotate_halves(head, cos, sin, args.rope_dim);
      } else {
        rotate_neighbours(head, cos, sin, args.rope_dim);
      }
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

}  // namespace tvllm::cpu::avx512
