// SPDX-License-Identifier: Apache-2.0
// The block formats of GGUF, bit for bit as they lie in a file, and their two readings: as integers
// with scales (what integer kernels and packers start from) and as floats.
//
// Every format is, in groups of 16 or 32 elements along a row,
//
//   weight = scale * q + min        q a small integer; min only in Q4_1, Q5_1, Q4_K, Q5_K
//
// Blocks hold bytes alone, so that they may stand at any address of a mapped file; 16-bit numbers
// are little-endian. `d`, `m` and `dmin` are binary16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace tvllm {

using LittleU16 = std::uint8_t[2];

// 32 elements. Element i < 16 is the low nibble of qs[i], element 16 + i the high nibble.
struct BlockQ4_0 {
  LittleU16 d;  // d * (q - 8)
  std::uint8_t qs[16];
};
struct BlockQ4_1 {
  LittleU16 d, m;  // d * q + m
  std::uint8_t qs[16];
};

// The same with a fifth bit: bit i of qh belongs to element i.
struct BlockQ5_0 {
  LittleU16 d;  // d * (q - 16)
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};
struct BlockQ5_1 {
  LittleU16 d, m;  // d * q + m
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};

struct BlockQ8_0 {
  LittleU16 d;  // d * q
  std::int8_t qs[32];
};

// 256 elements in 8 groups of 32, each with a 6-bit scale s and minimum m: d * s * q - dmin * m.
// Groups 2k and 2k + 1 are the low and the high nibbles of qs[32 k ..].
//
//   scales[0..3]   s of groups 0..3 in bits 0..5; bits 4..5 of s of groups 4..7 in bits 6..7
//   scales[4..7]   m, likewise
//   scales[8..11]  bits 0..3 of s (low nibble) and of m (high nibble) of groups 4..7
struct BlockQ4_K {
  LittleU16 d, dmin;
  std::uint8_t scales[12];
  std::uint8_t qs[128];
};
// The same with a fifth bit: bit g of qh[i] belongs to element i of group g.
struct BlockQ5_K {
  LittleU16 d, dmin;
  std::uint8_t scales[12];
  std::uint8_t qh[32];
  std::uint8_t qs[128];
};

// 256 elements in 16 groups of 16, each with an 8-bit scale: d * scale * (q - 32). Each half of 128
// elements has 64 bytes of ql and 32 of qh; its quarters of 32 elements are
//
//   quarter  low 4 bits                 high 2 bits
//   0, 1     low nibbles of ql[0..63]   bits 0..1, 2..3 of qh[0..31]
//   2, 3     high nibbles of ql[0..63]  bits 4..5, 6..7 of qh[0..31]
struct BlockQ6_K {
  std::uint8_t ql[128];
  std::uint8_t qh[64];
  std::int8_t scales[16];
  LittleU16 d;
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

// How a quantized type groups its elements.
struct QuantLayout {
  int group_len;  // elements that share a scale: 16 or 32
  bool has_min;
};

// REQUIRES: is_quantized(dtype)
QuantLayout quant_layout(DType dtype);

// A row as integers. The caller owns the arrays.
struct QuantRow {
  std::int8_t* values = nullptr;  // [num_elements]
  float* scales = nullptr;        // [num_elements / group_len]
  float* mins = nullptr;          // the same; left alone when the type has no minimum
};

// REQUIRES: is_quantized(dtype), num_elements a multiple of the block length
void unpack_row(DType dtype, const std::byte* row, std::int64_t num_elements, const QuantRow& out);

// out[i] = element i of the row; the bits are those of Python's gguf.quants.dequantize.
// REQUIRES: out.size() a multiple of the block length
void dequantize_row(DType dtype, const std::byte* row, std::span<float> out);

}  // namespace tvllm
