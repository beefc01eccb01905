// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx512/activations.h"

#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/avx512/vector.h"

namespace tvllm::cpu::avx512 {

namespace {

constexpr int kGroup = 32;
constexpr std::uint32_t kInfinityBits = 0x7f800000u;
constexpr float kLeastLargest = 0x1.0p-100f;  // below it a group or a row counts as zeros
constexpr std::size_t kLine = sizeof(RowHeader);

struct Row {
  RowHeader* header;
  std::int8_t* bytes;     // null if the form was not asked for
  GroupFactors* factors;  // likewise
  std::int16_t* shorts;   // likewise
};

Row row_at(std::byte* at, std::int64_t num_cols, unsigned forms) {
  Row row = {reinterpret_cast<RowHeader*>(at), nullptr, nullptr, nullptr};
  at += sizeof(RowHeader);
  if ((forms & kBytes) != 0) {
    row.bytes = reinterpret_cast<std::int8_t*>(at);
    row.factors = reinterpret_cast<GroupFactors*>(at + num_cols);
    at += num_cols + num_cols / kGroup * std::int64_t{sizeof(GroupFactors)};
  }
  if ((forms & kShorts) != 0) row.shorts = reinterpret_cast<std::int16_t*>(at);
  return row;
}

// Magnitudes compare as integers, in which infinity and NaNs are larger than all others.
TVLLM_INLINE __m512i magnitudes(const float* x) {
  return _mm512_and_si512(load_bytes(x), _mm512_set1_epi32(0x7fffffff));
}

// 16 floats times `factor`, to the nearest integers, ties to even.
TVLLM_INLINE __m512i to_integers(const float* x, __m512 factor) {
  return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), factor));
}

// |x| * inverse <= 127 * (1 + 2^-22), which rounds to 127.
TVLLM_INLINE void put_group(const float* x, std::int8_t* values, GroupFactors& factors) {
  const std::uint32_t bits =
      _mm512_reduce_max_epu32(_mm512_max_epu32(magnitudes(x), magnitudes(x + 16)));
  const float largest = __builtin_bit_cast(float, bits);
  if (bits >= kInfinityBits || largest < kLeastLargest) {
    factors.scale = factors.sum = bits >= kInfinityBits ? __builtin_nanf("") : 0.0f;
    __builtin_memset(values, 0, kGroup);
    return;
  }
  const __m512 inverse = _mm512_set1_ps(127.0f / largest);
  const __m512i first = to_integers(x, inverse);
  const __m512i last = to_integers(x + 16, inverse);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(values), _mm512_cvtepi32_epi8(first));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(values + 16), _mm512_cvtepi32_epi8(last));
  factors.scale = largest / 127.0f;
  const int sum = _mm512_reduce_add_epi32(_mm512_add_epi32(first, last));
  factors.sum = factors.scale * static_cast<float>(sum);
}

void put_shorts(const float* x, std::int64_t num_cols, const Row& row) {
  __m512i all = _mm512_setzero_si512();
  for (std::int64_t c = 0; c < num_cols; c += 16) {
    all = _mm512_max_epu32(all, magnitudes(x + c));
  }
  const std::uint32_t bits = _mm512_reduce_max_epu32(all);
  const float largest = __builtin_bit_cast(float, bits);
  if (bits >= kInfinityBits || largest < kLeastLargest) {
    row.header->short_scale = bits >= kInfinityBits ? __builtin_nanf("") : 0.0f;
    __builtin_memset(row.shorts, 0, static_cast<std::size_t>(num_cols) * sizeof(std::int16_t));
    return;
  }
  row.header->short_scale = largest / kLargestShort;
  const __m512 factor = _mm512_set1_ps(kLargestShort / largest);
  for (std::int64_t c = 0; c < num_cols; c += 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row.shorts + c),
                        _mm512_cvtepi32_epi16(to_integers(x + c, factor)));
  }
}

}  // namespace

unsigned quantized_form(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return kBytes;
    case DType::kQ8_0:
    case DType::kQ6_K:
      return kShorts;
    default:
      return 0;
  }
}

std::size_t quantized_row_bytes(std::int64_t num_cols, unsigned forms) {
  const auto cols = static_cast<std::size_t>(num_cols);
  std::size_t size = sizeof(RowHeader);
  if ((forms & kBytes) != 0) size += cols + cols / kGroup * sizeof(GroupFactors);
  if ((forms & kShorts) != 0) size += cols * sizeof(std::int16_t);
  return ((size + kLine - 1) / kLine | 1) * kLine;
}

void quantize_rows(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                   std::int64_t num_cols, unsigned forms, std::byte* out) {
  const std::size_t row_bytes = quantized_row_bytes(num_cols, forms);
  for (std::int64_t r = 0; r < num_rows; ++r, x += x_stride, out += row_bytes) {
    const Row row = row_at(out, num_cols, forms);
    if (row.bytes != nullptr) {
      for (std::int64_t g = 0; g < num_cols / kGroup; ++g) {
        put_group(x + g * kGroup, row.bytes + g * kGroup, row.factors[g]);
      }
    }
    if (row.shorts != nullptr) put_shorts(x, num_cols, row);
  }
}

}  // namespace tvllm::cpu::avx512
