// SPDX-License-Identifier: Apache-2.0
#include "base/philox.h"

#include <gtest/gtest.h>

#include <array>

namespace tvllm {
namespace {

using Counter = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

// Lines "philox4x32 10" of tests/kat_vectors in DEShawResearch/random123.
TEST(PhiloxTest, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// From tests/old_kat_vectors there: one bit of counter or key at a time.
TEST(PhiloxTest, EveryWordOfCounterAndKeyCounts) {
  struct Vector {
    Counter counter;
    Key key;
    Counter answer;
  };
  const Vector vectors[] = {
      {{1, 0, 0, 0}, {1, 0}, {0xac08141b, 0xdfc5ccbe, 0x79c07a47, 0xa7f66093}},
      {{0, 1, 0, 0}, {1, 0}, {0x833ff8dc, 0x225c963c, 0x232b88b3, 0x0b334b07}},
      {{0, 0, 1, 0}, {1, 0}, {0x07071c12, 0x428264b6, 0x3909104b, 0x6da2bda2}},
      {{0, 0, 0, 1}, {1, 0}, {0x127bee41, 0x1e047488, 0x48842b20, 0x0a393496}},
      {{0, 0x80000000, 0, 0}, {1, 0}, {0x34a4d61d, 0x340e4017, 0xf6945830, 0xe9f52b96}},
      {{1, 0, 0, 0}, {0, 1}, {0xccf3076a, 0x6306f434, 0xbea71965, 0xd96fe48a}},
      {{0, 1, 0, 0}, {0, 1}, {0x532f1322, 0x36c890fb, 0x6504b937, 0x07bbfef7}},
      {{0, 0, 1, 0}, {0, 1}, {0x7f6c13ff, 0x114b2447, 0x0550eced, 0xea1fc805}},
      {{0, 0, 0, 1}, {0, 1}, {0x96b27e8c, 0x28826d0f, 0x66d958ef, 0x081509dc}},
  };
  for (const Vector& v : vectors)
    EXPECT_EQ(philox4x32(v.counter, v.key), v.answer);
}

TEST(PhiloxTest, UniformFloatsLieBelowOne) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_EQ(uniform_float(0x80000000), 0.5f);
  EXPECT_EQ(uniform_float(0xffffffff), 1.0f - 0x1.0p-24f);
}

}  // namespace
}  // namespace tvllm
