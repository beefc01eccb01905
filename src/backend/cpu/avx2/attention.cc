// SPDX-License-Identifier: Apache-2.0
// Attention of the query heads of one KV head over one split.
//
// Rows are (token, head) pairs, kRowTile of them at a time. A score is a sum of 8 lanes over the
// chunks of 8 elements of a head, then of the lanes in a fixed tree; a result is a sum over the
// positions in order. So a row's bits do not depend on the tile that it is computed in.
#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/avx2/math.h"

namespace tvllm::cpu::avx2 {

namespace {

constexpr int kRowTile = 3;
constexpr int kPositionTile = 4;  // with kRowTile 12 sums; 3 queries and a key fill the registers
constexpr int kScoreStride = kSplitLen + kPositionTile;  // the last tile may reach past the split
constexpr int kChunkTile = 4;                            // chunks of 8 elements of values, likewise

TVLLM_INLINE int to_eight(int n) {
  return (n + 7) / 8 * 8;
}

// A block's K or V as floats.
struct Vectors {
  const float* data;
  std::int64_t stride;
};

TVLLM_INLINE __m256 load_elements(const void* from, DType dtype) {
  const __m128i halves = load_half_bytes(from);
  if (dtype == DType::kF16) return _mm256_cvtph_ps(halves);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

// Four scores from four vectors of lanes.
TVLLM_INLINE __m128 sum_four(const __m256 (&lanes)[kPositionTile]) {
  const __m256 ab = _mm256_hadd_ps(lanes[0], lanes[1]);
  const __m256 cd = _mm256_hadd_ps(lanes[2], lanes[3]);
  const __m256 abcd = _mm256_hadd_ps(ab, cd);
  return _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
}

class Split {
 public:
  Split(const AttentionSplit& args, std::byte* scratch)
      : args_(args),
        num_rows_(args.num_tokens * args.num_heads),
        padded_dim_(to_eight(args.head_dim)),
        scores_(reinterpret_cast<float*>(scratch)),
        queries_(scores_ + std::int64_t{num_rows_} * kScoreStride),
        converted_(queries_ + std::int64_t{num_rows_} * padded_dim_) {
    scale_queries();
  }

  // The first position of the first block that is read.
  int first_block_begin() const { return first_visible(0) / args_.block_size * args_.block_size; }

  void score_block(int first, int count) {
    const Vectors keys = as_floats(block_of(first), count);
    int row = first_row_seeing(first);
    for (; row + kRowTile <= num_rows_; row += kRowTile) {
      score_rows<kRowTile>(row, first, count, keys);
    }
    for (; row < num_rows_; ++row) {
      score_rows<1>(row, first, count, keys);
    }
  }

  // Scores become weights, zeros up to a multiple of 8; the largest score and the sum of weights go
  // to the partial.
  void soften() {
    for (int row = first_row_seeing(0); row < num_rows_; ++row) {
      const int begin = first_visible(row);
      const int end = num_visible(row);
      if (begin >= end) continue;
      float* weights = scores(row);
      __m256 largest = _mm256_set1_ps(-__builtin_inff());
      for_lanes(begin, end, [&](int p, __m256 seen) {
        const __m256 score = _mm256_loadu_ps(weights + p);
        const __m256 hidden = _mm256_set1_ps(-__builtin_inff());
        largest = _mm256_max_ps(_mm256_blendv_ps(hidden, score, seen), largest);
      });
      const float top = max_lanes(largest);
      __m256 sum = _mm256_setzero_ps();
      for_lanes(begin, end, [&](int p, __m256 seen) {
        const __m256 score = _mm256_sub_ps(_mm256_loadu_ps(weights + p), _mm256_set1_ps(top));
        const __m256 weight = _mm256_and_ps(exp_of(score), seen);
        _mm256_storeu_ps(weights + p, weight);
        sum = _mm256_add_ps(sum, weight);
      });
      float* out = partial(row);
      out[0] = top;
      out[1] = sum_lanes(sum);
      __builtin_memset(out + 2, 0, static_cast<std::size_t>(args_.head_dim) * sizeof(float));
    }
  }

  void add_values_of_block(int first, int count) {
    const Vectors values = as_floats(block_of(first) + args_.v_offset, count);
    int row = first_row_seeing(first);
    for (; row + kRowTile <= num_rows_; row += kRowTile) {
      // All rows of the tile see what its last one sees of the begin and its first one of the end;
      // the rest is for each alone, since nothing of a position may enter a row that does not see
      // it.
      const int begin = unseen_of_block(row + kRowTile - 1, first);
      const int end = seen_of_block(row, first, count);
      for (int r = 0; r + 1 < kRowTile; ++r) {
        const int seen = seen_of_block(row + r, first, count);
        add_values<1>(row + r, first, unseen_of_block(row + r, first), begin < seen ? begin : seen,
                      values);
      }
      add_values<kRowTile>(row, first, begin, end, values);
      for (int r = 1; r < kRowTile; ++r) {
        add_values<1>(row + r, first, begin < end ? end : begin,
                      seen_of_block(row + r, first, count), values);
      }
    }
    for (; row < num_rows_; ++row) {
      add_values<1>(row, first, unseen_of_block(row, first), seen_of_block(row, first, count),
                    values);
    }
  }

 private:
  void scale_queries() {
    const __m256 scale = _mm256_set1_ps(args_.scale);
    for (int row = 0; row < num_rows_; ++row) {
      const float* q = args_.q + row / args_.num_heads * args_.q_stride +
                       std::int64_t{row % args_.num_heads} * args_.head_dim;
      float* to = queries_ + std::int64_t{row} * padded_dim_;
      for (int d = 0; d < padded_dim_; d += 8) {
        const __m256i lanes = first_lanes(args_.head_dim - d);
        _mm256_storeu_ps(to + d, _mm256_mul_ps(_mm256_maskload_ps(q + d, lanes), scale));
      }
    }
  }

  // Calls body(p, mask of the lanes in [begin, end)) for multiples p of 8.
  template <typename Body>
  static TVLLM_INLINE void for_lanes(int begin, int end, Body&& body) {
    for (int p = begin / 8 * 8; p < end; p += 8) {
      const __m256i hidden = first_lanes(begin - p);
      body(p, _mm256_castsi256_ps(_mm256_andnot_si256(hidden, first_lanes(end - p))));
    }
  }

  // In the cache where it stands there as it is needed, else `converted_`, with zeros up to whole
  // chunks and tiles of positions.
  Vectors as_floats(const std::byte* block, int count) {
    if (args_.dtype == DType::kF32 && padded_dim_ == args_.head_dim &&
        args_.block_size % kPositionTile == 0) {
      return {reinterpret_cast<const float*>(block), args_.head_dim};
    }
    const int element_bytes = args_.dtype == DType::kF32 ? 4 : 2;
    float* to = converted_;
    for (int p = 0; p < count; ++p, to += padded_dim_) {
      const std::byte* from = block + std::int64_t{p} * args_.head_dim * element_bytes;
      convert(from, to);
    }
    const int padding = (count + kPositionTile - 1) / kPositionTile * kPositionTile - count;
    __builtin_memset(to, 0, static_cast<std::size_t>(padding * padded_dim_) * sizeof(float));
    return {converted_, padded_dim_};
  }

  void convert(const std::byte* from, float* to) const {
    int d = 0;
    if (args_.dtype == DType::kF32) {
      for (; d < padded_dim_; d += 8) {
        const float* floats = reinterpret_cast<const float*>(from) + d;
        _mm256_storeu_ps(to + d, _mm256_maskload_ps(floats, first_lanes(args_.head_dim - d)));
      }
      return;
    }
    for (; d + 8 <= args_.head_dim; d += 8) {
      _mm256_storeu_ps(to + d, load_elements(from + 2 * d, args_.dtype));
    }
    if (d == padded_dim_) return;
    alignas(16) std::uint16_t last[8] = {};
    __builtin_memcpy(last, from + 2 * d, static_cast<std::size_t>(2 * (args_.head_dim - d)));
    _mm256_storeu_ps(to + d, load_elements(last, args_.dtype));
  }

  template <int R>
  TVLLM_INLINE void score_rows(int row, int first, int count, const Vectors& keys) {
    for (int p = 0; p < count; p += kPositionTile) {
      __m256 lanes[R][kPositionTile];
      TVLLM_UNROLL
      for (int r = 0; r < R; ++r) {
        TVLLM_UNROLL
        for (int i = 0; i < kPositionTile; ++i) {
          lanes[r][i] = _mm256_setzero_ps();
        }
      }
      const float* query = queries_ + std::int64_t{row} * padded_dim_;
      const float* key = keys.data + p * keys.stride;
      for (int d = 0; d < padded_dim_; d += 8) {
        __m256 q[R];
        TVLLM_UNROLL
        for (int r = 0; r < R; ++r) {
          q[r] = _mm256_loadu_ps(query + std::int64_t{r} * padded_dim_ + d);
        }
        TVLLM_UNROLL
        for (int i = 0; i < kPositionTile; ++i) {
          const __m256 k = _mm256_loadu_ps(key + i * keys.stride + d);
          TVLLM_UNROLL
          for (int r = 0; r < R; ++r) {
            lanes[r][i] = _mm256_fmadd_ps(q[r], k, lanes[r][i]);
          }
        }
      }
      TVLLM_UNROLL
      for (int r = 0; r < R; ++r) {
        _mm_storeu_ps(scores(row + r) + first + p, sum_four(lanes[r]));
      }
    }
  }

  // partial[row + r] += the weighted values of the positions begin .. end - 1 of the block.
  template <int R>
  TVLLM_INLINE void add_values(int row, int first, int begin, int end, const Vectors& values) {
    if (begin >= end) return;
    int d = 0;
    for (; d + 8 * kChunkTile <= args_.head_dim; d += 8 * kChunkTile) {
      add_chunks<R, kChunkTile>(row, first, begin, end, values, d, _mm256_set1_epi32(-1));
    }
    for (; d < args_.head_dim; d += 8) {
      add_chunks<R, 1>(row, first, begin, end, values, d, first_lanes(args_.head_dim - d));
    }
  }

  template <int R, int D>
  TVLLM_INLINE void add_chunks(int row, int first, int begin, int end, const Vectors& values, int d,
                               __m256i mask) {
    __m256 sums[R][D];
    TVLLM_UNROLL
    for (int r = 0; r < R; ++r) {
      TVLLM_UNROLL
      for (int i = 0; i < D; ++i) {
        sums[r][i] = D == 1 ? _mm256_maskload_ps(partial(row + r) + 2 + d, mask)
                            : _mm256_loadu_ps(partial(row + r) + 2 + d + 8 * i);
      }
    }
    const float* weights = scores(row) + first;
    for (int p = begin; p < end; ++p) {
      __m256 weight[R];
      TVLLM_UNROLL
      for (int r = 0; r < R; ++r) {
        weight[r] = _mm256_set1_ps(weights[std::int64_t{r} * kScoreStride + p]);
      }
      TVLLM_UNROLL
      for (int i = 0; i < D; ++i) {
        const __m256 value = _mm256_loadu_ps(values.data + p * values.stride + d + 8 * i);
        TVLLM_UNROLL
        for (int r = 0; r < R; ++r) {
          sums[r][i] = _mm256_fmadd_ps(weight[r], value, sums[r][i]);
        }
      }
    }
    TVLLM_UNROLL
    for (int r = 0; r < R; ++r) {
      TVLLM_UNROLL
      for (int i = 0; i < D; ++i) {
        float* to = partial(row + r) + 2 + d + 8 * i;
        if (D == 1) {
          _mm256_maskstore_ps(to, mask, sums[r][i]);
        } else {
          _mm256_storeu_ps(to, sums[r][i]);
        }
      }
    }
  }

  const std::byte* block_of(int position) const {
    return args_.k_blocks[position / args_.block_size];
  }
  float* scores(int row) const { return scores_ + std::int64_t{row} * kScoreStride; }
  float* partial(int row) const {
    return args_.partials + std::int64_t{row} * (args_.head_dim + 2);
  }
  int num_visible(int row) const {
    const int visible = args_.num_visible + row / args_.num_heads;
    return visible < args_.num_positions ? visible : args_.num_positions;
  }
  int seen_of_block(int row, int first, int count) const {
    const int seen = num_visible(row) - first;
    return seen < count ? seen : count;
  }
  int first_visible(int row) const {
    const int visible = args_.first_visible + row / args_.num_heads;
    return visible > 0 ? visible : 0;
  }
  int unseen_of_block(int row, int first) const {
    const int unseen = first_visible(row) - first;
    return unseen > 0 ? unseen : 0;
  }
  // Later tokens see further.
  int first_row_seeing(int position) const {
    const int token = position - args_.num_visible + 1;
    return (token > 0 ? token : 0) * args_.num_heads;
  }

  const AttentionSplit& args_;
  const int num_rows_;
  const int padded_dim_;
  float* scores_;     // [num_rows, kScoreStride]
  float* queries_;    // [num_rows, padded_dim], scaled
  float* converted_;  // [block_size up to a whole position tile, padded_dim]
};

}  // namespace

std::size_t attention_scratch_bytes(std::int64_t num_rows, std::int64_t head_dim,
                                    std::int64_t block_size) {
  const std::int64_t padded_dim = (head_dim + 7) / 8 * 8;
  const std::int64_t positions = block_size < kPositionTile ? kPositionTile : block_size;
  return static_cast<std::size_t>(num_rows * (kScoreStride + padded_dim) + positions * padded_dim) *
         sizeof(float);
}

void attend_split(const AttentionSplit& args, std::byte* scratch) {
  Split split(args, scratch);
  const auto for_blocks = [&](auto&& use) {
    for (int first = split.first_block_begin(); first < args.num_positions;
         first += args.block_size) {
      const int left = args.num_positions - first;
      use(first, left < args.block_size ? left : args.block_size);
    }
  };
  for_blocks([&](int first, int count) { split.score_block(first, count); });
  split.soften();
  for_blocks([&](int first, int count) { split.add_values_of_block(first, count); });
}

}  // namespace tvllm::cpu::avx2
