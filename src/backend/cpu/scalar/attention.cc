// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/scalar/kernels.h"
#include "tensor/half.h"

namespace tvllm::cpu::scalar {

namespace {

// Independent sums of a dot product: four vectors of the narrowest instruction set.
constexpr int kLanes = 16;

float dot(const float* a, const float* b, int count) {
  float lanes[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += a[i + lane] * b[i + lane];
    }
  }
  // Apart from the lanes, which an index that varies would keep out of registers.
  float rest = 0.0f;
  for (; i < count; ++i) {
    rest += a[i] * b[i];
  }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0] + rest;
}

// K or V of one block as floats: the cache's own memory, or `converted`.
const float* as_floats(const std::byte* block, DType dtype, int count, float* converted) {
  if (dtype == DType::kF32) return reinterpret_cast<const float*>(block);
  const auto* bits = reinterpret_cast<const std::uint16_t*>(block);
  if (dtype == DType::kF16) {
    for (int i = 0; i < count; ++i) {
      converted[i] = f16_to_f32(bits[i]);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      converted[i] = bf16_to_f32(bits[i]);
    }
  }
  return converted;
}

// The rows (token, head) of a split. A block of K or V is converted once for all of them.
class SplitRows {
 public:
  SplitRows(const AttentionSplit& args, std::byte* scratch)
      : args_(args),
        num_rows_(args.num_tokens * args.num_heads),
        scores_(reinterpret_cast<float*>(scratch)),
        converted_(scores_ + std::int64_t{num_rows_} * kSplitLen) {}

  // scores[row, p] = scale * q . K
  void score_block(int first, int count) {
    const float* keys = as_floats(block_of(first), args_.dtype, count * args_.head_dim, converted_);
    for (int row = first_row_seeing(first); row < num_rows_; ++row) {
      const float* q = query(row);
      const int end = std::min(count, num_visible(row) - first);
      for (int p = std::max(0, first_visible(row) - first); p < end; ++p) {
        scores(row)[first + p] =
            dot(q, keys + std::int64_t{p} * args_.head_dim, args_.head_dim) * args_.scale;
      }
    }
  }

  // Scores become weights; the largest score and the sum of weights go to the partial.
  void soften() {
    for (int row = first_row_seeing(0); row < num_rows_; ++row) {
      const int begin = first_visible(row);
      const int end = num_visible(row);
      if (begin >= end) continue;
      float* weights = scores(row);
      float largest = -std::numeric_limits<float>::infinity();
      for (int p = begin; p < end; ++p) {
        largest = std::max(largest, weights[p]);
      }
      float sum = 0.0f;
      for (int p = begin; p < end; ++p) {
        weights[p] = std::exp(weights[p] - largest);
        sum += weights[p];
      }
      float* out = partial(row);
      out[0] = largest;
      out[1] = sum;
      std::fill_n(out + 2, args_.head_dim, 0.0f);
    }
  }

  void add_values_of_block(int first, int count) {
    const float* values = as_floats(block_of(first) + args_.v_offset, args_.dtype,
                                    count * args_.head_dim, converted_);
    for (int row = first_row_seeing(first); row < num_rows_; ++row) {
      float* out = partial(row) + 2;
      const int end = std::min(count, num_visible(row) - first);
      for (int p = std::max(0, first_visible(row) - first); p < end; ++p) {
        const float weight = scores(row)[first + p];
        const float* value = values + std::int64_t{p} * args_.head_dim;
        for (int d = 0; d < args_.head_dim; ++d) {
          out[d] += weight * value[d];
        }
      }
    }
  }

 private:
  const std::byte* block_of(int position) const {
    return args_.k_blocks[position / args_.block_size];
  }
  const float* query(int row) const {
    return args_.q + row / args_.num_heads * args_.q_stride +
           std::int64_t{row % args_.num_heads} * args_.head_dim;
  }
  float* scores(int row) { return scores_ + std::int64_t{row} * kSplitLen; }
  float* partial(int row) { return args_.partials + std::int64_t{row} * (args_.head_dim + 2); }
  int num_visible(int row) const {
    return std::min(args_.num_visible + row / args_.num_heads, args_.num_positions);
  }
  int first_visible(int row) const {
    return std::max(args_.first_visible + row / args_.num_heads, 0);
  }
  // Later tokens see further.
  int first_row_seeing(int position) const {
    return std::max(0, position - args_.num_visible + 1) * args_.num_heads;
  }

  const AttentionSplit& args_;
  const int num_rows_;
  float* scores_;     // [num_rows, kSplitLen]
  float* converted_;  // [block_size, head_dim]
};

}  // namespace

std::size_t attention_scratch_bytes(std::int64_t num_rows, std::int64_t head_dim,
                                    std::int64_t block_size) {
  return static_cast<std::size_t>(num_rows * kSplitLen + block_size * head_dim) * sizeof(float);
}

void attend_split(const AttentionSplit& args, std::byte* scratch) {
  SplitRows rows(args, scratch);
  const int first_block = std::max(args.first_visible, 0) / args.block_size * args.block_size;
  for (int first = first_block; first < args.num_positions; first += args.block_size) {
    rows.score_block(first, std::min(args.block_size, args.num_positions - first));
  }
  rows.soften();
  for (int first = first_block; first < args.num_positions; first += args.block_size) {
    rows.add_values_of_block(first, std::min(args.block_size, args.num_positions - first));
  }
}

}  // namespace tvllm::cpu::scalar
