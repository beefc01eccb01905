// SPDX-License-Identifier: Apache-2.0
#include "tensor/quant_blocks.h"

#include <cstring>

#include "base/check.h"
#include "tensor/half.h"

namespace tvllm {

namespace {

std::uint16_t load_u16(const std::uint8_t* bytes) {
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

float load_f16(const LittleU16& bytes) {
  return f16_to_f32(load_u16(bytes));
}

constexpr int kBlockLen = 32;
constexpr int kSuperBlockLen = 256;

// values[i] = (low nibbles, then high nibbles) - offset
template <int num_bytes, int offset>
void unpack_nibbles(const std::uint8_t* qs, std::int8_t* values) {
  for (int i = 0; i < num_bytes; ++i) {
    values[i] = static_cast<std::int8_t>((qs[i] & 0x0f) - offset);
    values[num_bytes + i] = static_cast<std::int8_t>((qs[i] >> 4) - offset);
  }
}

void add_fifth_bits(const std::uint8_t* qh, std::int8_t* values) {
  for (int i = 0; i < kBlockLen; ++i) {
    const int bit = qh[i / 8] >> (i % 8) & 1;
    values[i] = static_cast<std::int8_t>(values[i] + 16 * bit);
  }
}

void unpack_block(const BlockQ4_0& block, const QuantRow& out) {
  out.scales[0] = load_f16(block.d);
  unpack_nibbles<16, 8>(block.qs, out.values);
}

void unpack_block(const BlockQ4_1& block, const QuantRow& out) {
  out.scales[0] = load_f16(block.d);
  out.mins[0] = load_f16(block.m);
  unpack_nibbles<16, 0>(block.qs, out.values);
}

void unpack_block(const BlockQ5_0& block, const QuantRow& out) {
  out.scales[0] = load_f16(block.d);
  unpack_nibbles<16, 16>(block.qs, out.values);
  add_fifth_bits(block.qh, out.values);
}

void unpack_block(const BlockQ5_1& block, const QuantRow& out) {
  out.scales[0] = load_f16(block.d);
  out.mins[0] = load_f16(block.m);
  unpack_nibbles<16, 0>(block.qs, out.values);
  add_fifth_bits(block.qh, out.values);
}

void unpack_block(const BlockQ8_0& block, const QuantRow& out) {
  out.scales[0] = load_f16(block.d);
  std::memcpy(out.values, block.qs, sizeof(block.qs));
}

// The scales and minimums of the 8 groups of a Q4_K or Q5_K block.
template <typename Block>
void unpack_k_scales(const Block& block, const QuantRow& out) {
  const float d = load_f16(block.d);
  const float dmin = load_f16(block.dmin);
  const std::uint8_t* s = block.scales;
  for (int g = 0; g < 4; ++g) {
    out.scales[g] = d * static_cast<float>(s[g] & 0x3f);
    out.mins[g] = -(dmin * static_cast<float>(s[4 + g] & 0x3f));
    out.scales[4 + g] = d * static_cast<float>((s[8 + g] & 0x0f) | (s[g] >> 6 << 4));
    out.mins[4 + g] = -(dmin * static_cast<float>((s[8 + g] >> 4) | (s[4 + g] >> 6 << 4)));
  }
}

void unpack_block(const BlockQ4_K& block, const QuantRow& out) {
  unpack_k_scales(block, out);
  for (int pair = 0; pair < 4; ++pair) {
    unpack_nibbles<32, 0>(block.qs + 32 * pair, out.values + 64 * pair);
  }
}

void unpack_block(const BlockQ5_K& block, const QuantRow& out) {
  unpack_k_scales(block, out);
  for (int pair = 0; pair < 4; ++pair) {
    unpack_nibbles<32, 0>(block.qs + 32 * pair, out.values + 64 * pair);
  }
  for (int group = 0; group < 8; ++group) {
    std::int8_t* values = out.values + 32 * group;
    for (int i = 0; i < 32; ++i) {
      const int bit = block.qh[i] >> group & 1;
      values[i] = static_cast<std::int8_t>(values[i] + 16 * bit);
    }
  }
}

void unpack_block(const BlockQ6_K& block, const QuantRow& out) {
  const float d = load_f16(block.d);
  for (int group = 0; group < 16; ++group) {
    out.scales[group] = d * static_cast<float>(block.scales[group]);
  }
  for (int half = 0; half < 2; ++half) {
    const std::uint8_t* ql = block.ql + 64 * half;
    const std::uint8_t* qh = block.qh + 32 * half;
    std::int8_t* values = out.values + 128 * half;
    unpack_nibbles<64, 32>(ql, values);
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const int high = qh[i] >> (2 * quarter) & 3;
        std::int8_t& value = values[32 * quarter + i];
        value = static_cast<std::int8_t>(value + 16 * high);
      }
    }
  }
}

// Calls use(block, first_element) for every block of a row. Blocks are read where they stand: they
// are made of bytes and need no alignment.
template <typename Block, int block_len, typename Use>
void for_each_block(const std::byte* row, std::int64_t num_elements, Use&& use) {
  static_assert(alignof(Block) == 1);
  const auto* blocks = reinterpret_cast<const Block*>(row);
  for (std::int64_t first = 0; first < num_elements; first += block_len) {
    use(blocks[first / block_len], first);
  }
}

template <typename Block, int block_len, int group_len>
void unpack_blocks(const std::byte* row, std::int64_t num_elements, const QuantRow& out) {
  for_each_block<Block, block_len>(row, num_elements, [&](const Block& block, std::int64_t first) {
    // Types without a minimum are called with mins == nullptr, which takes no offset.
    float* mins = out.mins == nullptr ? nullptr : out.mins + first / group_len;
    unpack_block(block, {out.values + first, out.scales + first / group_len, mins});
  });
}

template <typename Block, int block_len, int group_len, bool has_min>
void dequantize_blocks(const std::byte* row, std::span<float> out) {
  std::int8_t values[block_len];
  float scales[block_len / group_len];
  float mins[block_len / group_len];
  for_each_block<Block, block_len>(
      row, static_cast<std::int64_t>(out.size()), [&](const Block& block, std::int64_t first) {
        unpack_block(block, {values, scales, mins});
        for (int i = 0; i < block_len; ++i) {
          const float scaled = scales[i / group_len] * static_cast<float>(values[i]);
          // Adding a minimum of 0 would turn -0 into +0.
          out[static_cast<std::size_t>(first + i)] =
              has_min ? scaled + mins[i / group_len] : scaled;
        }
      });
}

template <typename Convert>
void widen_halves(Convert convert, const std::byte* row, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, row + 2 * i, sizeof(bits));
    out[i] = convert(bits);
  }
}

}  // namespace

QuantLayout quant_layout(DType dtype) {
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {32, true};
    case DType::kQ6_K:
      return {16, false};
    default:
      TVLLM_DCHECK(is_quantized(dtype), dtype_info(dtype).name);
      return {32, false};
  }
}

void unpack_row(DType dtype, const std::byte* row, std::int64_t num_elements, const QuantRow& out) {
  switch (dtype) {
    case DType::kQ4_0:
      return unpack_blocks<BlockQ4_0, kBlockLen, 32>(row, num_elements, out);
    case DType::kQ4_1:
      return unpack_blocks<BlockQ4_1, kBlockLen, 32>(row, num_elements, out);
    case DType::kQ5_0:
      return unpack_blocks<BlockQ5_0, kBlockLen, 32>(row, num_elements, out);
    case DType::kQ5_1:
      return unpack_blocks<BlockQ5_1, kBlockLen, 32>(row, num_elements, out);
    case DType::kQ8_0:
      return unpack_blocks<BlockQ8_0, kBlockLen, 32>(row, num_elements, out);
    case DType::kQ4_K:
      return unpack_blocks<BlockQ4_K, kSuperBlockLen, 32>(row, num_elements, out);
    case DType::kQ5_K:
      return unpack_blocks<BlockQ5_K, kSuperBlockLen, 32>(row, num_elements, out);
    case DType::kQ6_K:
      return unpack_blocks<BlockQ6_K, kSuperBlockLen, 16>(row, num_elements, out);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  TVLLM_CHECK(false, "unpack_row of ", dtype_info(dtype).name);
}

void dequantize_row(DType dtype, const std::byte* row, std::span<float> out) {
  switch (dtype) {
    case DType::kF32:
      if (!out.empty()) std::memcpy(out.data(), row, out.size_bytes());
      return;
    case DType::kF16:
      return widen_halves([](std::uint16_t bits) { return f16_to_f32(bits); }, row, out);
    case DType::kBF16:
      return widen_halves([](std::uint16_t bits) { return bf16_to_f32(bits); }, row, out);
    case DType::kQ4_0:
      return dequantize_blocks<BlockQ4_0, kBlockLen, 32, false>(row, out);
    case DType::kQ4_1:
      return dequantize_blocks<BlockQ4_1, kBlockLen, 32, true>(row, out);
    case DType::kQ5_0:
      return dequantize_blocks<BlockQ5_0, kBlockLen, 32, false>(row, out);
    case DType::kQ5_1:
      return dequantize_blocks<BlockQ5_1, kBlockLen, 32, true>(row, out);
    case DType::kQ8_0:
      return dequantize_blocks<BlockQ8_0, kBlockLen, 32, false>(row, out);
    case DType::kQ4_K:
      return dequantize_blocks<BlockQ4_K, kSuperBlockLen, 32, true>(row, out);
    case DType::kQ5_K:
      return dequantize_blocks<BlockQ5_K, kSuperBlockLen, 32, true>(row, out);
    case DType::kQ6_K:
      return dequantize_blocks<BlockQ6_K, kSuperBlockLen, 16, false>(row, out);
  }
}

}  // namespace tvllm
