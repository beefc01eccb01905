// SPDX-License-Identifier: Apache-2.0
// How tokens meet panels, for every quantized type. Everything has internal linkage.
//
//   kPanels panels of 16 rows -> tile of up to kTileTokens tokens -> group of 32 columns -> step
//   step: columns of all rows, unpacked into 16 registers, meet every token of the tile
//
// So a weight is unpacked once a tile and loaded once for all its tokens, an activation is loaded
// once for 32 rows, and the sums of a tile wait in the nearest cache. A sum runs over the groups in
// order whatever the number of tokens and of panels.
#pragma once

#include "backend/cpu/avx512/vector.h"
#include "backend/cpu/panel.h"

namespace tvllm::cpu::avx512 {

namespace {

// Enough to forget the cost of unpacking; sums and activations fit the nearest cache.
constexpr int kTileTokens = 32;

// Panels at a time. More registers for weights than these take would not leave enough for sums.
constexpr int kPanels = 2;

template <int P>
struct TokenSums {
  __m512 sums[P];
  __m512i dots[P];  // of one group, between its steps
};

// Rows of the output that a panel makes: all but the last panel's are 16.
struct OutputRows {
  const MatmulArgs& args;
  std::int64_t first_row;
  __mmask16 lanes;

  // Sums over all columns become results.
  TVLLM_INLINE void finish(std::int64_t token, __m512 sums, float scale) const {
    sums = _mm512_mul_ps(sums, _mm512_set1_ps(scale));
    if (args.bias != nullptr) {
      sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(lanes, args.bias + first_row));
    }
    _mm512_mask_storeu_ps(args.out + token * args.out_stride + first_row, lanes, sums);
  }
};

TVLLM_INLINE OutputRows output_rows(const MatmulArgs& args, std::int64_t row,
                                    std::int64_t row_end) {
  return {args, row, first_lanes(row_end - row)};
}

// What a Format is asked for:
//
//   Packed(weight, panel)                 reads a panel
//   Activations(args, token)              reads the rows of a tile; scale(t) is that of row t
//   add_group<P>(packed, g, x, n, tile)   adds the products of group g to the sums of n tokens
template <typename Format, int P>
TVLLM_INLINE void multiply_tile(const MatmulArgs& args, std::int64_t row, std::int64_t row_end,
                                std::int64_t token, int num_tokens) {
  const std::int64_t num_groups = args.weight->num_cols / kPanelGroup;
  const typename Format::Activations x(args, token);
  const Format format(*args.weight, row / kPanelRows);
  TokenSums<P> tile[kTileTokens];
  for (int t = 0; t < num_tokens; ++t) {
    TVLLM_UNROLL
    for (int p = 0; p < P; ++p) {
      tile[t].sums[p] = _mm512_setzero_ps();
    }
  }
  for (std::int64_t g = 0; g < num_groups; ++g) {
    format.template add_group<P>(g, x, num_tokens, tile);
  }
  TVLLM_UNROLL
  for (int p = 0; p < P; ++p) {
    const OutputRows rows = output_rows(args, row + p * kPanelRows, row_end);
    for (int t = 0; t < num_tokens; ++t) {
      rows.finish(token + t, tile[t].sums[p], x.scale(t));
    }
  }
}

template <typename Format, int P>
void multiply_tokens(const MatmulArgs& args, std::int64_t row, std::int64_t row_end,
                     std::int64_t token) {
  const std::int64_t left = args.num_tokens - token;
  if (left == 1) {  // a constant, so that its sums stay in registers
    multiply_tile<Format, P>(args, row, row_end, token, 1);
  } else {
    const int num_tokens = left < kTileTokens ? static_cast<int>(left) : kTileTokens;
    multiply_tile<Format, P>(args, row, row_end, token, num_tokens);
  }
}

// Panels of a block meet one tile after another: then the activations of a tile come from the
// nearest cache, the panels from the next one.
constexpr std::int64_t kBlockBytes = 512 * 1024;

template <typename Format>
void multiply_panels(const MatmulArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  constexpr std::int64_t kRows = kPanels * kPanelRows;
  const std::int64_t num_groups = args.weight->num_cols / kPanelGroup;
  const std::int64_t block_rows =
      (kBlockBytes / (num_groups * kPanels * Format::kGroupBytes) + 1) * kRows;
  for (std::int64_t block = row_begin; block < row_end; block += block_rows) {
    const std::int64_t block_end = block + block_rows < row_end ? block + block_rows : row_end;
    for (std::int64_t token = 0; token < args.num_tokens; token += kTileTokens) {
      std::int64_t row = block;
      for (; block_end - row > kPanelRows; row += kRows) {
        multiply_tokens<Format, kPanels>(args, row, block_end, token);
      }
      if (row < block_end) multiply_tokens<Format, 1>(args, row, block_end, token);
    }
  }
}

}  // namespace

}  // namespace tvllm::cpu::avx512
