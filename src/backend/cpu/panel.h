// SPDX-License-Identifier: Apache-2.0
// Weights as the vector instruction sets read them. A panel is kPanelRows rows of a matrix, their
// columns interleaved so that one load brings the same columns of several rows:
//
//   quad    4 columns of 8 rows, 32 bytes: row 0's four, row 1's four, ... (8-bit products)
//   pair    2 columns of 8 rows, 16 bytes                                  (16-bit products)
//   column  1 column of 16 rows                                            (floats)
//
// The last index of 2 is the half of the panel, 8 rows each: one load of 32 bytes brings a quad of
// half the rows, one of 64 bytes a quad of all. Rows past the end of a matrix are zeros. Units with
// -m flags read these structs; what is declared here is compiled without.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_table.h"

namespace tvllm::cpu {

inline constexpr int kPanelRows = 16;
inline constexpr int kPanelGroup = 32;  // columns that share a scale
inline constexpr int kSuperGroups = 8;  // groups of a block of the K types

// Quad q of a half: q < 4 in the low nibbles of nibbles[q][half], else in the high ones of
// nibbles[q - 4][half]. Bit q of fifths[half][i] is bit 4 of byte i of quad q.
struct PanelQ4_0 {
  std::uint16_t scales[kPanelRows];  // binary16, as in the file
  std::uint8_t nibbles[4][2][32];
};
struct PanelQ4_1 {
  std::uint16_t scales[kPanelRows];
  std::uint16_t mins[kPanelRows];
  std::uint8_t nibbles[4][2][32];
};
struct PanelQ5_0 {
  std::uint16_t scales[kPanelRows];
  std::uint8_t fifths[2][32];
  std::uint8_t nibbles[4][2][32];
};
struct PanelQ5_1 {
  std::uint16_t scales[kPanelRows];
  std::uint16_t mins[kPanelRows];
  std::uint8_t fifths[2][32];
  std::uint8_t nibbles[4][2][32];
};

// Eight groups: scale = d * scales, minimum = -(dmin * mins).
struct PanelQ4_K {
  struct Group {
    std::uint8_t scales[kPanelRows];
    std::uint8_t mins[kPanelRows];
    std::uint8_t nibbles[4][2][32];
  };
  std::uint16_t d[kPanelRows];
  std::uint16_t dmin[kPanelRows];
  Group groups[kSuperGroups];
};
struct PanelQ5_K {
  struct Group {
    std::uint8_t scales[kPanelRows];
    std::uint8_t mins[kPanelRows];
    std::uint8_t fifths[2][32];
    std::uint8_t nibbles[4][2][32];
  };
  std::uint16_t d[kPanelRows];
  std::uint16_t dmin[kPanelRows];
  Group groups[kSuperGroups];
};

struct PanelQ8_0 {
  std::uint16_t scales[kPanelRows];
  std::int8_t pairs[16][2][16];
};
// weight = d * scale * value, a scale for every 16 columns: those of 8 rows, each twice, as the
// values of a pair stand.
struct PanelQ6_K {
  struct Group {
    std::int8_t scales[2][2][16];  // [first or last 16 columns][half]
    std::int8_t pairs[16][2][16];
  };
  std::uint16_t d[kPanelRows];
  Group groups[kSuperGroups];
};

static_assert(sizeof(PanelQ4_0) == 288 && sizeof(PanelQ4_1) == 320 && sizeof(PanelQ5_0) == 352);
static_assert(sizeof(PanelQ5_1) == 384 && sizeof(PanelQ8_0) == 544 && sizeof(PanelQ4_K) == 2368);
static_assert(sizeof(PanelQ5_K) == 2880 && sizeof(PanelQ6_K) == 4640);

// All panels of a matrix; they follow one another.
std::size_t panel_bytes(const WeightPart& weight);

// REQUIRES: row_begin a multiple of kPanelRows; `packed` zeros where rows are missing
void pack_panels(const WeightPart& weight, std::byte* packed, std::int64_t row_begin,
                 std::int64_t row_end);

// One row as floats, to the bit as in the file.
void load_panel_row(const WeightPart& weight, std::int64_t row, float* out);

}  // namespace tvllm::cpu
