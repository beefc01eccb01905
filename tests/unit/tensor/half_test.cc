// SPDX-License-Identifier: Apache-2.0
#include "tensor/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace tvllm {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The value of a finite half by the definition of the format.
double value_of_half(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int fraction = static_cast<int>(bits & 1023);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(HalfTest, EveryFiniteHalfHasTheValueOfItsDefinition) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    const float value = f16_to_f32(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(static_cast<double>(value), value_of_half(bits)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
  }
}

TEST(HalfTest, InfinitiesAndNansStayWhatTheyAre) {
  EXPECT_EQ(f16_to_f32(0x7c00), kInf);
  EXPECT_EQ(f16_to_f32(0xfc00), -kInf);
  for (std::uint32_t fraction = 1; fraction < 1024; ++fraction) {
    ASSERT_TRUE(std::isnan(f16_to_f32(static_cast<std::uint16_t>(0x7c00 | fraction))));
    ASSERT_TRUE(std::isnan(f16_to_f32(static_cast<std::uint16_t>(0xfc00 | fraction))));
  }
  EXPECT_EQ(f32_to_f16(kInf), 0x7c00);
  EXPECT_EQ(f32_to_f16(-kInf), 0xfc00);
  // A NaN whose payload lies in the bits that are cut off, too.
  for (const std::uint32_t nan :
       {0x7fc00000u, 0x7f800001u, 0xffc00000u, 0xff801000u, 0x7fffffffu}) {
    ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(nan))))) << nan;
    ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(nan))))) << nan;
  }
}

TEST(HalfTest, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0) continue;
    ASSERT_EQ(f32_to_f16(f16_to_f32(half)), half);
  }
}

TEST(HalfTest, BetweenTwoHalvesTheNearerIsTakenAndTheEvenOneOfATie) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = value_of_half(bits);
    const double high = bits == 0x7bff ? 65536.0 : value_of_half(bits + 1);
    const float middle = static_cast<float>((low + high) / 2);  // exact: halves have 11 bits
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(f32_to_f16(middle), even) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), bits) << bits;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInf)), bits + 1) << bits;
    ASSERT_EQ(f32_to_f16(-middle), 0x8000u | even) << bits;
  }
}

TEST(HalfTest, Bf16IsTheUpperHalfOfTheFloat) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
  }
}

TEST(HalfTest, Bf16RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    if ((bits & 0x7f80) == 0x7f80) continue;  // infinity and NaN
    const auto rounded = [bits](std::uint32_t low) {
      return f32_to_bf16(std::bit_cast<float>(bits << 16 | low));
    };
    ASSERT_EQ(rounded(0), bits);
    ASSERT_EQ(rounded(1), bits);
    ASSERT_EQ(rounded(0x7fff), bits);
    ASSERT_EQ(rounded(0x8000), bits + bits % 2);
    ASSERT_EQ(rounded(0x8001), bits + 1);
    ASSERT_EQ(rounded(0xffff), bits + 1);
  }
}

TEST(HalfTest, RoundsRandomFloatsAsNumpyDoes) {
  struct Record {
    float value;
    std::uint16_t f16, bf16;
  };
  std::ifstream file(std::string(TVLLM_TEST_DATA) + "/tensor/roundings.bin", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Record> records(bytes.size() / sizeof(Record));
  ASSERT_GT(records.size(), 4000u);
  std::memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
  for (const Record& record : records) {
    ASSERT_EQ(f32_to_f16(record.value), record.f16) << record.value;
    ASSERT_EQ(f32_to_bf16(record.value), record.bf16) << record.value;
  }
}

}  // namespace
}  // namespace tvllm
