// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/panel.h"

#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "tensor/half.h"
#include "tensor/quant_blocks.h"

namespace tvllm::cpu {

namespace {

// One row of a panel, as its structs are indexed.
struct RowPlace {
  int row;      // 0 .. 15
  int half;     // 0 or 1
  int in_half;  // 0 .. 7
};

RowPlace place_of(std::int64_t row) {
  const int in_panel = static_cast<int>(row % kPanelRows);
  return {in_panel, in_panel / 8, in_panel % 8};
}

std::uint16_t little_u16(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

// --- integers of one row in a group ---

template <typename Group>
concept HasFifths = requires(Group group) {
  group.fifths;
};

template <typename Group>
void put_quads(Group& group, const RowPlace& at, const std::uint8_t* values) {
  // Four bytes at a time; what is shifted stays within its byte.
  std::uint32_t quads[8];
  std::memcpy(quads, values, sizeof(quads));
  const int byte = at.in_half * 4;
  for (int q = 0; q < 4; ++q) {
    const std::uint32_t nibbles = (quads[q] & 0x0f0f0f0fu) | (quads[q + 4] & 0x0f0f0f0fu) << 4;
    std::memcpy(&group.nibbles[q][at.half][byte], &nibbles, sizeof(nibbles));
  }
  if constexpr (HasFifths<Group>) {
    std::uint32_t fifths = 0;
    for (int q = 0; q < 8; ++q) {
      fifths |= (quads[q] >> 4 & 0x01010101u) << q;
    }
    std::memcpy(&group.fifths[at.half][byte], &fifths, sizeof(fifths));
  }
}

template <typename Group>
int quad_value(const Group& group, const RowPlace& at, int c) {
  const int quad = c / 4;
  const int byte = at.in_half * 4 + c % 4;
  int value = group.nibbles[quad % 4][at.half][byte] >> (quad < 4 ? 0 : 4) & 0x0f;
  if constexpr (HasFifths<Group>) value += 16 * (group.fifths[at.half][byte] >> quad & 1);
  return value;
}

template <typename Group>
void put_pairs(Group& group, const RowPlace& at, const std::int8_t* values) {
  for (int pair = 0; pair < kPanelGroup / 2; ++pair) {
    std::memcpy(&group.pairs[pair][at.half][at.in_half * 2], values + 2 * pair, 2);
  }
}

template <typename Group>
int pair_value(const Group& group, const RowPlace& at, int c) {
  return group.pairs[c / 2][at.half][at.in_half * 2 + c % 2];
}

// --- one block of one row, in and out ---

// The values of a block with no minimum in the file are unsigned in a panel.
template <typename Panel, typename Block, int offset>
struct SmallBlock {
  static constexpr bool kHasMin = requires(Block block) { block.m; };

  static void put(const Block& block, const std::int8_t* values, Panel& panel, const RowPlace& at) {
    panel.scales[at.row] = little_u16(block.d);
    if constexpr (kHasMin) panel.mins[at.row] = little_u16(block.m);
    std::uint8_t positive[kPanelGroup];
    for (int c = 0; c < kPanelGroup; ++c) {
      positive[c] = static_cast<std::uint8_t>(values[c] + offset);
    }
    put_quads(panel, at, positive);
  }

  static void load(const Panel& panel, const RowPlace& at, float* out) {
    const float scale = f16_to_f32(panel.scales[at.row]);
    for (int c = 0; c < kPanelGroup; ++c) {
      const float scaled = scale * static_cast<float>(quad_value(panel, at, c) - offset);
      if constexpr (kHasMin) {
        out[c] = scaled + f16_to_f32(panel.mins[at.row]);
      } else {
        out[c] = scaled;
      }
    }
  }
};

struct ByteBlock {
  static void put(const BlockQ8_0& block, const std::int8_t* values, PanelQ8_0& panel,
                  const RowPlace& at) {
    panel.scales[at.row] = little_u16(block.d);
    put_pairs(panel, at, values);
  }

  static void load(const PanelQ8_0& panel, const RowPlace& at, float* out) {
    const float scale = f16_to_f32(panel.scales[at.row]);
    for (int c = 0; c < kPanelGroup; ++c) {
      out[c] = scale * static_cast<float>(pair_value(panel, at, c));
    }
  }
};

// The scale and the minimum of group g, 6 bits each.
struct SixBits {
  std::uint8_t scale;
  std::uint8_t min;
};
SixBits six_bits(const std::uint8_t* scales, int g) {
  if (g < 4) {
    return {static_cast<std::uint8_t>(scales[g] & 0x3f),
            static_cast<std::uint8_t>(scales[4 + g] & 0x3f)};
  }
  return {static_cast<std::uint8_t>((scales[4 + g] & 0x0f) | scales[g - 4] >> 6 << 4),
          static_cast<std::uint8_t>(scales[4 + g] >> 4 | scales[g] >> 6 << 4)};
}

template <typename Panel, typename Block>
struct SuperBlock {
  static void put(const Block& block, const std::int8_t* values, Panel& panel, const RowPlace& at) {
    panel.d[at.row] = little_u16(block.d);
    panel.dmin[at.row] = little_u16(block.dmin);
    for (int g = 0; g < kSuperGroups; ++g) {
      const SixBits bits = six_bits(block.scales, g);
      panel.groups[g].scales[at.row] = bits.scale;
      panel.groups[g].mins[at.row] = bits.min;
      std::uint8_t positive[kPanelGroup];
      std::memcpy(positive, values + g * kPanelGroup, kPanelGroup);
      put_quads(panel.groups[g], at, positive);
    }
  }

  static void load(const Panel& panel, const RowPlace& at, float* out) {
    const float d = f16_to_f32(panel.d[at.row]);
    const float dmin = f16_to_f32(panel.dmin[at.row]);
    for (int g = 0; g < kSuperGroups; ++g) {
      const auto& group = panel.groups[g];
      const float scale = d * static_cast<float>(group.scales[at.row]);
      const float min = -(dmin * static_cast<float>(group.mins[at.row]));
      for (int c = 0; c < kPanelGroup; ++c) {
        out[g * kPanelGroup + c] = scale * static_cast<float>(quad_value(group, at, c)) + min;
      }
    }
  }
};

struct SixthBlock {
  static void put(const BlockQ6_K& block, const std::int8_t* values, PanelQ6_K& panel,
                  const RowPlace& at) {
    panel.d[at.row] = little_u16(block.d);
    for (int g = 0; g < kSuperGroups; ++g) {
      PanelQ6_K::Group& group = panel.groups[g];
      put_pairs(group, at, values + g * kPanelGroup);
      for (int sixteen = 0; sixteen < 2; ++sixteen) {
        std::int8_t* twins = &group.scales[sixteen][at.half][at.in_half * 2];
        twins[0] = twins[1] = block.scales[2 * g + sixteen];
      }
    }
  }

  static void load(const PanelQ6_K& panel, const RowPlace& at, float* out) {
    const float d = f16_to_f32(panel.d[at.row]);
    for (int g = 0; g < kSuperGroups; ++g) {
      const PanelQ6_K::Group& group = panel.groups[g];
      for (int c = 0; c < kPanelGroup; ++c) {
        const int scale = group.scales[c / 16][at.half][at.in_half * 2];
        out[g * kPanelGroup + c] =
            d * static_cast<float>(scale) * static_cast<float>(pair_value(group, at, c));
      }
    }
  }
};

// --- whole rows ---

template <typename Panel, typename Block, typename Codec, int block_len>
struct QuantizedRows {
  static constexpr int kBlockLen = block_len;
  using PanelType = Panel;

  static void pack(const WeightPart& weight, std::byte* packed, std::int64_t row) {
    const std::int64_t num_blocks = weight.num_cols / block_len;
    const std::byte* from = weight.blocks + row * row_bytes(weight.dtype, weight.num_cols);
    auto* panels = reinterpret_cast<Panel*>(packed) + row / kPanelRows * num_blocks;
    for (std::int64_t b = 0; b < num_blocks; ++b, from += sizeof(Block)) {
      std::int8_t values[block_len];
      float scales[block_len / 16];
      float mins[block_len / 16];
      unpack_row(weight.dtype, from, block_len, {values, scales, mins});
      Codec::put(*reinterpret_cast<const Block*>(from), values, panels[b], place_of(row));
    }
  }

  static void load(const WeightPart& weight, std::int64_t row, float* out) {
    const std::int64_t num_blocks = weight.num_cols / block_len;
    const auto* panels =
        reinterpret_cast<const Panel*>(weight.packed) + row / kPanelRows * num_blocks;
    for (std::int64_t b = 0; b < num_blocks; ++b) {
      Codec::load(panels[b], place_of(row), out + b * block_len);
    }
  }
};

// Plain types: [num_cols][kPanelRows] elements, as in the file.
template <typename Element>
struct PlainRows {
  static constexpr int kBlockLen = 1;
  using PanelType = Element[kPanelRows];

  static void pack(const WeightPart& weight, std::byte* packed, std::int64_t row) {
    const std::byte* from = weight.blocks + row * weight.num_cols * std::int64_t{sizeof(Element)};
    auto* columns = reinterpret_cast<PanelType*>(packed) + row / kPanelRows * weight.num_cols;
    for (std::int64_t c = 0; c < weight.num_cols; ++c, from += sizeof(Element)) {
      std::memcpy(&columns[c][row % kPanelRows], from, sizeof(Element));
    }
  }

  static void load(const WeightPart& weight, std::int64_t row, float* out) {
    const auto* columns =
        reinterpret_cast<const PanelType*>(weight.packed) + row / kPanelRows * weight.num_cols;
    for (std::int64_t c = 0; c < weight.num_cols; ++c) {
      const Element element = columns[c][row % kPanelRows];
      if constexpr (std::is_same_v<Element, float>) {
        out[c] = element;
      } else {
        out[c] = weight.dtype == DType::kF16 ? f16_to_f32(element) : bf16_to_f32(element);
      }
    }
  }
};

// Calls use(Rows{}) for the type's way of packing.
template <typename Use>
auto with_rows(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::kF32:
      return use(PlainRows<float>{});
    case DType::kF16:
    case DType::kBF16:
      return use(PlainRows<std::uint16_t>{});
    case DType::kQ4_0:
      return use(QuantizedRows<PanelQ4_0, BlockQ4_0, SmallBlock<PanelQ4_0, BlockQ4_0, 8>, 32>{});
    case DType::kQ4_1:
      return use(QuantizedRows<PanelQ4_1, BlockQ4_1, SmallBlock<PanelQ4_1, BlockQ4_1, 0>, 32>{});
    case DType::kQ5_0:
      return use(QuantizedRows<PanelQ5_0, BlockQ5_0, SmallBlock<PanelQ5_0, BlockQ5_0, 16>, 32>{});
    case DType::kQ5_1:
      return use(QuantizedRows<PanelQ5_1, BlockQ5_1, SmallBlock<PanelQ5_1, BlockQ5_1, 0>, 32>{});
    case DType::kQ8_0:
      return use(QuantizedRows<PanelQ8_0, BlockQ8_0, ByteBlock, 32>{});
    case DType::kQ4_K:
      return use(QuantizedRows<PanelQ4_K, BlockQ4_K, SuperBlock<PanelQ4_K, BlockQ4_K>, 256>{});
    case DType::kQ5_K:
      return use(QuantizedRows<PanelQ5_K, BlockQ5_K, SuperBlock<PanelQ5_K, BlockQ5_K>, 256>{});
    case DType::kQ6_K:
      return use(QuantizedRows<PanelQ6_K, BlockQ6_K, SixthBlock, 256>{});
  }
  TVLLM_CHECK(false, "DType ", static_cast<int>(dtype));
}

}  // namespace

std::size_t panel_bytes(const WeightPart& weight) {
  return with_rows(weight.dtype, [&](auto rows) {
    using Rows = decltype(rows);
    const std::int64_t num_panels = (weight.num_rows + kPanelRows - 1) / kPanelRows;
    return static_cast<std::size_t>(num_panels * (weight.num_cols / Rows::kBlockLen)) *
           sizeof(typename Rows::PanelType);
  });
}

void pack_panels(const WeightPart& weight, std::byte* packed, std::int64_t row_begin,
                 std::int64_t row_end) {
  with_rows(weight.dtype, [&](auto rows) {
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      decltype(rows)::pack(weight, packed, row);
    }
  });
}

void load_panel_row(const WeightPart& weight, std::int64_t row, float* out) {
  with_rows(weight.dtype, [&](auto rows) { decltype(rows)::load(weight, row, out); });
}

}  // namespace tvllm::cpu
