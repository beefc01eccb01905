// SPDX-License-Identifier: Apache-2.0
// How tokens meet panels, for every quantized type. Everything has internal linkage.
//
//   one token      weights are unpacked in registers on their way: memory is the limit
//   more tokens    a chunk of a panel is unpacked into the nearest cache, then used for all tokens,
//                  kTileTokens at a time, while the next chunk is fetched
//
// A sum runs over the groups of a row in order, in one fp32 register or, between chunks, in `out`:
// the same additions in the same order whatever the number of tokens.
#pragma once

#include "backend/cpu/avx2/vector.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu::avx2 {

namespace {

// Tokens that share a weight on its way from the nearest cache: with two halves of a panel these
// are 4 sums of floats, 4 of 16-bit and 4 of 32-bit integers, and 4 registers for operands: 16.
constexpr int kTileTokens = 2;

// Rows of the output that a panel makes: all but the last panel's are 16.
struct OutputRows {
  const MatmulArgs& args;
  std::int64_t first_row;
  std::int64_t count;

  float* at(std::int64_t token) const { return args.out + token * args.out_stride + first_row; }
  __m256 load(const float* from, int half) const {
    if (count == kPanelRows) return _mm256_loadu_ps(from + 8 * half);
    return _mm256_maskload_ps(from + 8 * half, first_lanes(count - 8 * half));
  }
  void store(std::int64_t token, int half, __m256 sums) const {
    float* to = at(token) + 8 * half;
    if (count == kPanelRows) {
      _mm256_storeu_ps(to, sums);
    } else {
      _mm256_maskstore_ps(to, first_lanes(count - 8 * half), sums);
    }
  }
  // Sums over all columns become results.
  void finish(std::int64_t token, int half, __m256 sums, float scale) const {
    sums = _mm256_mul_ps(sums, _mm256_set1_ps(scale));
    if (args.bias != nullptr) sums = _mm256_add_ps(sums, load(args.bias + first_row, half));
    store(token, half, sums);
  }
};

// Fetches its share of what comes after `end`, one call a tile.
struct NextChunk {
  const char* next;
  std::int64_t lines_per_tile;

  void fetch() {
    for (std::int64_t i = 0; i < lines_per_tile; ++i, next += 64) {
      _mm_prefetch(next, _MM_HINT_T0);
    }
  }
};

// What the functions below ask of a Format:
//
//   Packed, Unpacked              readers: one stands on a panel, one on unpacked groups
//   Packed(weight, panel), address_of(group)
//   Unpacked::Group, kChunkGroups how much of it fits the nearest cache with some tokens
//   unpack(packed, group, Unpacked::Group&)
//   Activations{args, first token}; accumulate<T>(reader, first group of x, count, x, sums)
template <typename Format, int T, typename Reader>
TVLLM_INLINE void multiply_tile(const Reader& reader, const OutputRows& rows, std::int64_t token,
                                std::int64_t first_group, std::int64_t num_groups, bool is_last) {
  __m256 sums[T][2];
  TVLLM_UNROLL
  for (int t = 0; t < T; ++t) {
    TVLLM_UNROLL
    for (int half = 0; half < 2; ++half) {
      sums[t][half] = first_group == 0 ? _mm256_setzero_ps() : rows.load(rows.at(token + t), half);
    }
  }
  typename Format::template Activations<T> x(rows.args, token);
  Format::accumulate(reader, x, first_group, num_groups, sums);
  TVLLM_UNROLL
  for (int t = 0; t < T; ++t) {
    TVLLM_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (is_last) {
        rows.finish(token + t, half, sums[t][half], x.scale[t]);
      } else {
        rows.store(token + t, half, sums[t][half]);
      }
    }
  }
}

template <typename Format>
void multiply_panel(const typename Format::Packed& packed, const OutputRows& rows,
                    std::int64_t num_groups, typename Format::Unpacked::Group* unpacked) {
  const std::int64_t num_tokens = rows.args.num_tokens;
  const std::int64_t num_chunks = (num_groups + Format::kChunkGroups - 1) / Format::kChunkGroups;
  const std::int64_t num_tiles = (num_tokens + kTileTokens - 1) / kTileTokens;
  for (std::int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    const std::int64_t begin = num_groups * chunk / num_chunks;
    const std::int64_t end = num_groups * (chunk + 1) / num_chunks;
    const bool is_last = end == num_groups;
    for (std::int64_t g = begin; g < end; ++g) {
      Format::unpack(packed, g, unpacked[g - begin]);
    }
    const typename Format::Unpacked reader{unpacked};
    const char* next = packed.address_of(end);
    NextChunk prefetch = {next, (next - packed.address_of(begin)) / 64 / num_tiles + 1};
    std::int64_t token = 0;
    for (; token + kTileTokens <= num_tokens; token += kTileTokens) {
      prefetch.fetch();
      multiply_tile<Format, kTileTokens>(reader, rows, token, begin, end - begin, is_last);
    }
    for (; token < num_tokens; ++token) {
      prefetch.fetch();
      multiply_tile<Format, 1>(reader, rows, token, begin, end - begin, is_last);
    }
  }
}

template <typename Format>
void multiply_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end,
                     std::byte* scratch) {
  const std::int64_t num_groups = args.weight->num_cols / kPanelGroup;
  for (std::int64_t row = row_begin; row < row_end; row += kPanelRows) {
    const std::int64_t count = row_end - row < kPanelRows ? row_end - row : kPanelRows;
    const OutputRows rows = {args, row, count};
    const typename Format::Packed packed(*args.weight, row / kPanelRows);
    if (args.num_tokens == 1) {
      multiply_tile<Format, 1>(packed, rows, 0, 0, num_groups, true);
    } else {
      multiply_panel<Format>(packed, rows, num_groups,
                             reinterpret_cast<typename Format::Unpacked::Group*>(scratch));
    }
  }
}

}  // namespace

}  // namespace tvllm::cpu::avx2
