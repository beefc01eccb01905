// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx2/activations.h"

#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/avx2/vector.h"

namespace tvllm::cpu::avx2 {

namespace {

constexpr int kGroup = 32;
constexpr std::uint32_t kInfinityBits = 0x7f800000u;
constexpr float kLeastLargest = 0x1.0p-100f;  // below it a row counts as zeros

struct Row {
  RowHeader* header;
  ByteGroup* groups;     // null if the form was not asked for
  std::int16_t* shorts;  // likewise
};

Row row_at(std::byte* bytes, std::int64_t num_cols, unsigned forms) {
  Row row = {reinterpret_cast<RowHeader*>(bytes), nullptr, nullptr};
  bytes += sizeof(RowHeader);
  if ((forms & kBytes) != 0) {
    row.groups = reinterpret_cast<ByteGroup*>(bytes);
    bytes += num_cols / kGroup * std::int64_t{sizeof(ByteGroup)};
  }
  if ((forms & kShorts) != 0) row.shorts = reinterpret_cast<std::int16_t*>(bytes);
  return row;
}

// Magnitudes compare as integers, in which infinity and NaNs are larger than all others.
TVLLM_INLINE __m256i magnitudes(const float* x) {
  return _mm256_and_si256(load_bytes(x), _mm256_set1_epi32(0x7fffffff));
}

TVLLM_INLINE std::uint32_t largest_lane(__m256i v) {
  __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
}

std::uint32_t largest_magnitude_bits(const float* x, std::int64_t num_cols) {
  __m256i largest = _mm256_setzero_si256();
  for (std::int64_t c = 0; c < num_cols; c += 8) {
    largest = _mm256_max_epu32(largest, magnitudes(x + c));
  }
  return largest_lane(largest);
}

void put_zeros(const Row& row, std::int64_t num_cols, float scale) {
  row.header->byte_scale = scale;
  row.header->short_scale = scale;
  if (row.groups != nullptr) {
    for (std::int64_t g = 0; g < num_cols / kGroup; ++g) {
      row.groups[g] = {};
    }
  }
  if (row.shorts != nullptr) {
    __builtin_memset(row.shorts, 0, static_cast<std::size_t>(num_cols) * sizeof(std::int16_t));
  }
}

// 8 floats times `factor`, to the nearest integers, ties to even.
TVLLM_INLINE __m256i to_integers(const float* x, __m256 factor) {
  return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factor));
}

// 16 columns: the least multiplier with which all values fit.
//
//   largest <= row_largest, so the product is at most kLargestMultiplier (and one rounding, which
//   the minimum takes back); |x| * inverse <= 127 * (1 + 2^-21), which rounds to 127
struct Sixteen {
  __m256i low, high;  // 32-bit integers
  int multiplier;
};
TVLLM_INLINE Sixteen quantize_sixteen(const float* x, float steps_per_unit, float unit_inverse) {
  const __m256i magnitude = _mm256_max_epu32(magnitudes(x), magnitudes(x + 8));
  const float largest = __builtin_bit_cast(float, largest_lane(magnitude));
  const float steps = largest * steps_per_unit;
  int multiplier = static_cast<int>(steps);
  multiplier += static_cast<float>(multiplier) < steps ? 1 : 0;
  if (multiplier < 1) multiplier = 1;
  if (multiplier > kLargestMultiplier) multiplier = kLargestMultiplier;
  const __m256 factor = _mm256_set1_ps(unit_inverse / static_cast<float>(multiplier));
  return {to_integers(x, factor), to_integers(x + 8, factor), multiplier};
}

// multiplier * (sum of values), over the 32 columns.
TVLLM_INLINE int weighted_sum(__m256i values, __m256i multipliers) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), values);
  const __m256i sums = _mm256_madd_epi16(pairs, multipliers);
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
  return _mm_cvtsi128_si32(s);
}

void put_bytes(const float* x, std::int64_t num_cols, float largest, const Row& row) {
  row.header->byte_scale = largest / (127.0f * kLargestMultiplier);
  const float steps_per_unit = kLargestMultiplier / largest;
  const float unit_inverse = 127.0f * kLargestMultiplier / largest;
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (std::int64_t g = 0; g < num_cols / kGroup; ++g, x += kGroup) {
    const Sixteen first = quantize_sixteen(x, steps_per_unit, unit_inverse);
    const Sixteen last = quantize_sixteen(x + 16, steps_per_unit, unit_inverse);
    const __m256i shorts_first = _mm256_packs_epi32(first.low, first.high);
    const __m256i shorts_last = _mm256_packs_epi32(last.low, last.high);
    const __m256i values =
        _mm256_permutevar8x32_epi32(_mm256_packs_epi16(shorts_first, shorts_last), order);
    ByteGroup& group = row.groups[g];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(group.values), values);
    group.multipliers[0] = first.multiplier * 0x10001;
    group.multipliers[1] = last.multiplier * 0x10001;
    const __m256i multipliers = _mm256_set_m128i(_mm_set1_epi32(group.multipliers[1]),
                                                 _mm_set1_epi32(group.multipliers[0]));
    group.sum = static_cast<float>(weighted_sum(values, multipliers));
  }
}

void put_shorts(const float* x, std::int64_t num_cols, float largest, const Row& row) {
  row.header->short_scale = largest / kLargestShort;
  const __m256 factor = _mm256_set1_ps(kLargestShort / largest);
  for (std::int64_t c = 0; c < num_cols; c += 16) {
    const __m256i mixed =
        _mm256_packs_epi32(to_integers(x + c, factor), to_integers(x + c + 8, factor));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row.shorts + c),
                        _mm256_permute4x64_epi64(mixed, 0xd8));
  }
}

void quantize_row(const float* x, std::int64_t num_cols, const Row& row) {
  const std::uint32_t bits = largest_magnitude_bits(x, num_cols);
  const float largest = __builtin_bit_cast(float, bits);
  if (bits >= kInfinityBits) return put_zeros(row, num_cols, __builtin_nanf(""));
  if (largest < kLeastLargest) return put_zeros(row, num_cols, 0.0f);
  if (row.groups != nullptr) put_bytes(x, num_cols, largest, row);
  if (row.shorts != nullptr) put_shorts(x, num_cols, largest, row);
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
  if ((forms & kBytes) != 0) size += cols / kGroup * sizeof(ByteGroup);
  if ((forms & kShorts) != 0) size += cols * sizeof(std::int16_t);
  return size;
}

void quantize_rows(const float* x, std::int64_t x_stride, std::int64_t num_rows,
                   std::int64_t num_cols, unsigned forms, std::byte* out) {
  for (std::int64_t r = 0; r < num_rows; ++r) {
    quantize_row(x + r * x_stride, num_cols, row_at(out, num_cols, forms));
    out += quantized_row_bytes(num_cols, forms);
  }
}

}  // namespace tvllm::cpu::avx2
