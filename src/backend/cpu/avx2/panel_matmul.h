// SPDX-License-Identifier: Apache-2.0
// How tokens meet panels, for every quantized type. Everything has internal linkage.
//
//   panel of 16 rows -> tile of up to kTileTokens tokens -> group of 32 columns -> step
//   step: some columns of all 16 rows, unpacked into 8 registers, meet every token of the tile
//
// So a weight is unpacked once a tile and loaded once for all its tokens, an activation is loaded
// once for 16 rows, and the sums of a tile wait in the nearest cache. A sum runs over the groups in
// order whatever the number of tokens.
#pragma once

#include "backend/cpu/avx2/vector.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu::avx2 {

namespace {

// Enough to forget the cost of unpacking; sums and activations fit the nearest cache.
constexpr int kTileTokens = 32;

// Of the 16 rows of a panel, both halves.
struct alignas(32) TokenSums {
  __m256 sums[2];
  __m256i dots[2];  // of one group, between its steps
};

// Rows of the output that a panel makes: all but the last panel's are 16.
struct OutputRows {
  const MatmulArgs& args;
  std::int64_t first_row;
  std::int64_t count;

  __m256 bias(int half) const {
    const float* from = args.bias + first_row + 8 * half;
    if (count == kPanelRows) return _mm256_loadu_ps(from);
    return _mm256_maskload_ps(from, first_lanes(count - 8 * half));
  }
  // Sums over all columns become results.
  void finish(std::int64_t token, int half, __m256 sums, float scale) const {
    sums = _mm256_mul_ps(sums, _mm256_set1_ps(scale));
    if (args.bias != nullptr) sums = _mm256_add_ps(sums, bias(half));
    float* to = args.out + token * args.out_stride + first_row + 8 * half;
    if (count == kPanelRows) {
      _mm256_storeu_ps(to, sums);
    } else {
      _mm256_maskstore_ps(to, first_lanes(count - 8 * half), sums);
    }
  }
};

// What a Format is asked for:
//
//   Packed(weight, panel)              reads a panel
//   Activations(args, token)           reads the rows of a tile; scale(t) is that of row t
//   add_group(packed, g, x, n, tile)   adds the products of group g to the sums of n tokens
template <typename Format>
TVLLM_INLINE void multiply_tile(const typename Format::Packed& packed, const OutputRows& rows,
                                std::int64_t num_groups, std::int64_t token, int num_tokens) {
  TokenSums tile[kTileTokens];
  const typename Format::Activations x(rows.args, token);
  for (int t = 0; t < num_tokens; ++t) {
    tile[t].sums[0] = tile[t].sums[1] = _mm256_setzero_ps();
  }
  for (std::int64_t g = 0; g < num_groups; ++g) {
    Format::add_group(packed, g, x, num_tokens, tile);
  }
  for (int t = 0; t < num_tokens; ++t) {
    rows.finish(token + t, 0, tile[t].sums[0], x.scale(t));
    rows.finish(token + t, 1, tile[t].sums[1], x.scale(t));
  }
}

// Panels of a block meet one tile after another: then the activations of a tile come from the
// nearest cache, the panels from the next one.
constexpr std::int64_t kBlockBytes = 256 * 1024;

template <typename Format>
void multiply_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t num_groups = args.weight->num_cols / kPanelGroup;
  const std::int64_t panels_in_block = kBlockBytes / (num_groups * Format::kGroupBytes) + 1;
  const std::int64_t block_rows = panels_in_block * kPanelRows;
  for (std::int64_t block = row_begin; block < row_end; block += block_rows) {
    const std::int64_t block_end = block + block_rows < row_end ? block + block_rows : row_end;
    for (std::int64_t token = 0; token < args.num_tokens; token += kTileTokens) {
      const std::int64_t left = args.num_tokens - token;
      for (std::int64_t row = block; row < block_end; row += kPanelRows) {
        const std::int64_t count = block_end - row < kPanelRows ? block_end - row : kPanelRows;
        const OutputRows rows = {args, row, count};
        const typename Format::Packed packed(*args.weight, row / kPanelRows);
        if (left == 1) {  // a constant, so that its sums stay in registers
          multiply_tile<Format>(packed, rows, num_groups, token, 1);
        } else {
          const int num_tokens = left < kTileTokens ? static_cast<int>(left) : kTileTokens;
          multiply_tile<Format>(packed, rows, num_groups, token, num_tokens);
        }
      }
    }
  }
}

}  // namespace

}  // namespace tvllm::cpu::avx2
