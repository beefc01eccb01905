// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/reference/kernels.h"
#include "tensor/half.h"

namespace tvllm::cpu::reference {

namespace {

// Vectors of one position, K or V, as floats.
class PositionReader {
 public:
  PositionReader(const AttentionSplit& args, std::int64_t side_offset)
      : args_(args), side_offset_(side_offset) {}

  void read(int position, float* out) const {
    const std::int64_t element_bytes = args_.dtype == DType::kF32 ? 4 : 2;
    const std::byte* from = args_.k_blocks[position / args_.block_size] + side_offset_ +
                            position % args_.block_size * args_.head_dim * element_bytes;
    if (args_.dtype == DType::kF32) {
      std::memcpy(out, from, static_cast<std::size_t>(args_.head_dim) * sizeof(float));
      return;
    }
    for (int d = 0; d < args_.head_dim; ++d) {
      std::uint16_t bits;
      std::memcpy(&bits, from + 2 * d, sizeof(bits));
      out[d] = args_.dtype == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
  }

 private:
  const AttentionSplit& args_;
  const std::int64_t side_offset_;
};

// In four interleaved sums, so that additions need not wait for one another.
float dot(const float* a, const float* b, int count) {
  double lanes[4] = {};
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  double sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
  for (; i < count; ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return static_cast<float>(sum);
}

// One query head of one token: two passes over the positions begin .. end - 1.
void attend_row(const AttentionSplit& args, const float* q, int begin, int end, float* scores,
                float* vector, double* weighted, float* partial) {
  const PositionReader keys(args, 0);
  const PositionReader values(args, args.v_offset);
  float largest = -std::numeric_limits<float>::infinity();
  for (int p = begin; p < end; ++p) {
    keys.read(p, vector);
    scores[p] = dot(q, vector, args.head_dim) * args.scale;
    largest = std::max(largest, scores[p]);
  }
  double sum = 0.0;
  std::fill_n(weighted, args.head_dim, 0.0);
  for (int p = begin; p < end; ++p) {
    const double weight = static_cast<double>(std::exp(scores[p] - largest));
    sum += weight;
    values.read(p, vector);
    for (int d = 0; d < args.head_dim; ++d) {
      weighted[d] += weight * static_cast<double>(vector[d]);
    }
  }
  partial[0] = largest;
  partial[1] = static_cast<float>(sum);
  std::transform(weighted, weighted + args.head_dim, partial + 2,
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace

// weighted [head_dim] of double, scores [kSplitLen], one K or V vector [head_dim]
std::size_t attention_scratch_bytes(std::int64_t, std::int64_t head_dim, std::int64_t) {
  return static_cast<std::size_t>(head_dim) * (sizeof(double) + sizeof(float)) +
         kSplitLen * sizeof(float);
}

void attend_split(const AttentionSplit& args, std::byte* scratch) {
  double* weighted = reinterpret_cast<double*>(scratch);
  float* scores = reinterpret_cast<float*>(weighted + args.head_dim);
  float* vector = scores + kSplitLen;
  for (int t = 0; t < args.num_tokens; ++t) {
    const int begin = std::max(args.first_visible + t, 0);
    const int end = std::min(args.num_visible + t, args.num_positions);
    if (begin >= end) continue;
    for (int h = 0; h < args.num_heads; ++h) {
      const float* q = args.q + t * args.q_stride + std::int64_t{h} * args.head_dim;
      float* partial = args.partials + (std::int64_t{t} * args.num_heads + h) * (args.head_dim + 2);
      attend_row(args, q, begin, end, scores, vector, weighted, partial);
    }
  }
}

}  // namespace tvllm::cpu::reference
