// SPDX-License-Identifier: Apache-2.0
// Attention of the query heads of one KV head over one split.
//
// Rows are (token, head) pairs, kRowTile of them at a time. A score is a sum of 16 lanes over the
// chunks of 16 elements of a head, then of the lanes in a fixed tree; a result is a sum over the
// positions in order. So a row's bits do not depend on the tile that it is computed in.
#include "backend/cpu/avx512/elements.h"
#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/avx512/math.h"

namespace tvllm::cpu::avx512 {

namespace {

constexpr int kRowTile = 3;
constexpr int kPositionTile = 8;  // with kRowTile 24 sums; 3 queries and a key fill the registers
constexpr int kChunkTile = 4;     // chunks of 16 elements of values, likewise
constexpr int kScoreStride = kSplitLen;

// Fewer rows read the cache's own elements; for more a block is converted once.
constexpr int kFewRows = 2 * kRowTile;

TVLLM_INLINE __m512 add_quarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

// Eight scores from eight vectors of lanes.
TVLLM_INLINE __m256 sum_eight(const __m512 (&lanes)[kPositionTile]) {
  __m512 halves[4];  // 8 lanes of two scores each
  TVLLM_UNROLL
  for (int i = 0; i < 4; ++i) {
    const __m512 a = lanes[2 * i];
    const __m512 b = lanes[2 * i + 1];
    halves[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  const __m512 first = add_quarters(halves[0], halves[1]);  // 4 lanes of the scores 0 .. 3
  const __m512 last = add_quarters(halves[2], halves[3]);
  const __m512 twos =
      _mm512_add_ps(_mm512_shuffle_ps(first, last, 0x88), _mm512_shuffle_ps(first, last, 0xdd));
  const __m512 sums = _mm512_add_ps(twos, _mm512_permute_ps(twos, 0xb1));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0);
  return low_half(_mm512_permutexvar_ps(order, sums));
}

// The rows of a split.
class Split {
 public:
  Split(const AttentionSplit& args, std::byte* scratch)
      : args_(args),
        num_rows_(args.num_tokens * args.num_heads),
        padded_dim_((args.head_dim + 15) / 16 * 16),
        scores_(reinterpret_cast<float*>(scratch)),
        queries_(scores_ + std::int64_t{num_rows_} * kScoreStride),
        converted_(queries_ + std::int64_t{num_rows_} * padded_dim_) {
    scale_queries();
  }

  template <typename Type>
  void attend() {
    const auto for_blocks = [&](auto&& use) {
      for (int first = first_visible(0) / args_.block_size * args_.block_size;
           first < args_.num_positions; first += args_.block_size) {
        const int left = args_.num_positions - first;
        use(first, left < args_.block_size ? left : args_.block_size);
      }
    };
    for_blocks([&](int first, int count) {
      with_elements<Type>(block_of(first), count, [&](auto type, const auto* keys) {
        score_block<decltype(type)>(first, count, keys);
      });
    });
    soften();
    for_blocks([&](int first, int count) {
      with_elements<Type>(block_of(first) + args_.v_offset, count,
                          [&](auto type, const auto* values) {
                            add_values_of_block<decltype(type)>(first, count, values);
                          });
    });
  }

 private:
  void scale_queries() {
    const __m512 scale = _mm512_set1_ps(args_.scale);
    for (int row = 0; row < num_rows_; ++row) {
      const float* q = args_.q + row / args_.num_heads * args_.q_stride +
                       std::int64_t{row % args_.num_heads} * args_.head_dim;
      float* to = queries_ + std::int64_t{row} * padded_dim_;
      for (int d = 0; d < padded_dim_; d += 16) {
        const __mmask16 lanes = first_lanes(args_.head_dim - d);
        _mm512_storeu_ps(to + d, _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, q + d), scale));
      }
    }
  }

  // Calls use(type, elements of the block): its own, or `converted_` if many rows will read them.
  template <typename Type, typename Use>
  TVLLM_INLINE void with_elements(const std::byte* block, int count, Use&& use) {
    const auto* elements = reinterpret_cast<const typename Type::Element*>(block);
    if (sizeof(*elements) == sizeof(float) || num_rows_ <= kFewRows) return use(Type{}, elements);
    const int total = count * args_.head_dim;
    int i = 0;
    for (; i + 16 <= total; i += 16) {
      _mm512_storeu_ps(converted_ + i, Type::load(elements + i));
    }
    if (i < total) {
      const __mmask16 lanes = first_lanes(total - i);
      _mm512_mask_storeu_ps(converted_ + i, lanes, Type::load(elements + i, lanes));
    }
    use(Singles{}, const_cast<const float*>(converted_));
  }

  template <typename Type>
  TVLLM_INLINE void score_block(int first, int count, const typename Type::Element* keys) {
    int row = first_row_seeing(first);
    for (; row + kRowTile <= num_rows_; row += kRowTile) {
      score_rows<Type, kRowTile>(row, first, count, keys);
    }
    for (; row < num_rows_; ++row) {
      score_rows<Type, 1>(row, first, count, keys);
    }
  }

  template <typename Type, int R>
  TVLLM_INLINE void score_rows(int row, int first, int count, const typename Type::Element* keys) {
    const float* query = queries_ + std::int64_t{row} * padded_dim_;
    const int whole = args_.head_dim / 16 * 16;
    for (int p = 0; p < count; p += kPositionTile) {
      __m512 lanes[R][kPositionTile];
      const typename Type::Element* key[kPositionTile];
      TVLLM_UNROLL
      for (int i = 0; i < kPositionTile; ++i) {
        // A tile that is not full repeats its last position.
        key[i] = keys + std::int64_t{p + i < count ? p + i : count - 1} * args_.head_dim;
        TVLLM_UNROLL
        for (int r = 0; r < R; ++r) {
          lanes[r][i] = _mm512_setzero_ps();
        }
      }
      const auto add_chunk = [&](int d, auto&& load) __attribute__((always_inline)) {
        __m512 q[R];
        TVLLM_UNROLL
        for (int r = 0; r < R; ++r) {
          q[r] = _mm512_loadu_ps(query + std::int64_t{r} * padded_dim_ + d);
        }
        TVLLM_UNROLL
        for (int i = 0; i < kPositionTile; ++i) {
          const __m512 k = load(key[i] + d);
          TVLLM_UNROLL
          for (int r = 0; r < R; ++r) {
            lanes[r][i] = _mm512_fmadd_ps(q[r], k, lanes[r][i]);
          }
        }
      };
      for (int d = 0; d < whole; d += 16) {
        add_chunk(d, [](const auto* from) { return Type::load(from); });
      }
      if (whole < args_.head_dim) {
        const __mmask16 last = first_lanes(args_.head_dim - whole);
        add_chunk(whole, [&](const auto* from) { return Type::load(from, last); });
      }
      const auto stored = static_cast<__mmask8>(first_lanes(count - p));
      TVLLM_UNROLL
      for (int r = 0; r < R; ++r) {
        _mm256_mask_storeu_ps(scores(row + r) + first + p, stored, sum_eight(lanes[r]));
      }
    }
  }

  // Of the 16 from `p`, those in [begin, end).
  static TVLLM_INLINE __mmask16 lanes_of(int begin, int end, int p) {
    const __mmask16 hidden = begin > p ? first_lanes(begin - p) : __mmask16{0};
    return static_cast<__mmask16>(first_lanes(end - p) & ~hidden);
  }

  // Scores become weights; the largest score and the sum of weights go to the partial.
  void soften() {
    const __m512 hidden = _mm512_set1_ps(-__builtin_inff());
    for (int row = first_row_seeing(0); row < num_rows_; ++row) {
      const int begin = first_visible(row);
      const int end = num_visible(row);
      if (begin >= end) continue;
      float* weights = scores(row);
      __m512 largest = hidden;
      for (int p = begin / 16 * 16; p < end; p += 16) {
        const __m512 score = _mm512_mask_loadu_ps(hidden, lanes_of(begin, end, p), weights + p);
        largest = _mm512_max_ps(score, largest);
      }
      const float top = max_lanes(largest);
      __m512 sum = _mm512_setzero_ps();
      for (int p = begin / 16 * 16; p < end; p += 16) {
        const __mmask16 seen = lanes_of(begin, end, p);
        const __m512 score =
            _mm512_sub_ps(_mm512_maskz_loadu_ps(seen, weights + p), _mm512_set1_ps(top));
        const __m512 weight = _mm512_maskz_mov_ps(seen, exp_of(score));
        _mm512_mask_storeu_ps(weights + p, seen, weight);
        sum = _mm512_add_ps(sum, weight);
      }
      float* out = partial(row);
      out[0] = top;
      out[1] = sum_lanes(sum);
      __builtin_memset(out + 2, 0, static_cast<std::size_t>(args_.head_dim) * sizeof(float));
    }
  }

  template <typename Type>
  TVLLM_INLINE void add_values_of_block(int first, int count,
                                        const typename Type::Element* values) {
    int row = first_row_seeing(first);
    for (; row + kRowTile <= num_rows_; row += kRowTile) {
      // All rows of the tile see what its last one sees of the begin and its first one of the end;
      // the rest is for each alone, since nothing of a position may enter a row that does not see
      // it.
      const int begin = unseen_of_block(row + kRowTile - 1, first);
      const int end = seen_of_block(row, first, count);
      for (int r = 0; r + 1 < kRowTile; ++r) {
        const int seen = seen_of_block(row + r, first, count);
        add_values<Type, 1>(row + r, first, unseen_of_block(row + r, first),
                            begin < seen ? begin : seen, values);
      }
      add_values<Type, kRowTile>(row, first, begin, end, values);
      for (int r = 1; r < kRowTile; ++r) {
        add_values<Type, 1>(row + r, first, begin < end ? end : begin,
                            seen_of_block(row + r, first, count), values);
      }
    }
    for (; row < num_rows_; ++row) {
      add_values<Type, 1>(row, first, unseen_of_block(row, first), seen_of_block(row, first, count),
                          values);
    }
  }

  // partial[row + r] += the weighted values of the positions begin .. end - 1 of the block.
  template <typename Type, int R>
  TVLLM_INLINE void add_values(int row, int first, int begin, int end,
                               const typename Type::Element* values) {
    if (begin >= end) return;
    int d = 0;
    for (; d + 16 * kChunkTile <= args_.head_dim; d += 16 * kChunkTile) {
      add_chunks<Type, R, kChunkTile>(row, first, begin, end, values + d, d, 0xffff);
    }
    for (; d < args_.head_dim; d += 16) {
      add_chunks<Type, R, 1>(row, first, begin, end, values + d, d,
                             first_lanes(args_.head_dim - d));
    }
  }

  template <typename Type, int R, int D>
  TVLLM_INLINE void add_chunks(int row, int first, int begin, int end,
                               const typename Type::Element* values, int d, __mmask16 last) {
    __m512 sums[R][D];
    TVLLM_UNROLL
    for (int r = 0; r < R; ++r) {
      TVLLM_UNROLL
      for (int i = 0; i < D; ++i) {
        sums[r][i] = D == 1 ? _mm512_maskz_loadu_ps(last, partial(row + r) + 2 + d)
                            : _mm512_loadu_ps(partial(row + r) + 2 + d + 16 * i);
      }
    }
    const float* weights = scores(row) + first;
    for (int p = begin; p < end; ++p) {
      __m512 weight[R];
      TVLLM_UNROLL
      for (int r = 0; r < R; ++r) {
        weight[r] = _mm512_set1_ps(weights[std::int64_t{r} * kScoreStride + p]);
      }
      const typename Type::Element* value = values + std::int64_t{p} * args_.head_dim;
      TVLLM_UNROLL
      for (int i = 0; i < D; ++i) {
        const __m512 v = D == 1 ? Type::load(value, last) : Type::load(value + 16 * i);
        TVLLM_UNROLL
        for (int r = 0; r < R; ++r) {
          sums[r][i] = _mm512_fmadd_ps(weight[r], v, sums[r][i]);
        }
      }
    }
    TVLLM_UNROLL
    for (int r = 0; r < R; ++r) {
      TVLLM_UNROLL
      for (int i = 0; i < D; ++i) {
        _mm512_mask_storeu_ps(partial(row + r) + 2 + d + 16 * i, last, sums[r][i]);
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
  float* converted_;  // [block_size, head_dim]
};

}  // namespace

std::size_t attention_scratch_bytes(std::int64_t num_rows, std::int64_t head_dim,
                                    std::int64_t block_size) {
  const std::int64_t padded_dim = (head_dim + 15) / 16 * 16;
  return static_cast<std::size_t>(num_rows * (kScoreStride + padded_dim) + block_size * head_dim) *
         sizeof(float);
}

void attend_split(const AttentionSplit& args, std::byte* scratch) {
  Split split(args, scratch);
  switch (args.dtype) {
    case DType::kF16:
      return split.attend<Halves>();
    case DType::kBF16:
      return split.attend<BrainHalves>();
    default:
      return split.attend<Singles>();
  }
}

}  // namespace tvllm::cpu::avx512
