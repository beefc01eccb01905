// SPDX-License-Identifier: Apache-2.0
// What kernels are made of. On a GPU these tests check the emulation's idea of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tests/unit/backend_cuda/cuda_fixture.h"
#include "tests/unit/backend_cuda/primitive_kernels.h"

namespace tvllm::cuda::test {
namespace {

class CudaPrimitivesTest : public CudaTest {};

std::vector<int> iota(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST_F(CudaPrimitivesTest, IndicesCoverGridAndBlockInThreeDimensions) {
  constexpr int kCount = 3 * 2 * 4 * 5 * 3 * 2;
  DeviceBuffer<int> out = allocate<int>(kCount);
  EXPECT_OK(write_indices(stream(), {3, 2, 4}, {5, 3, 2}, out.data()));
  EXPECT_EQ(download(out), iota(kCount));
}

TEST_F(CudaPrimitivesTest, ThreadsExchangeThroughSharedMemory) {
  DeviceBuffer<int> x = upload(iota(5 * 256));
  EXPECT_OK(reverse_rows(stream(), x.data(), 5));
  const std::vector<int> reversed = download(x);
  for (int i = 0; i < 5 * 256; ++i) {
    ASSERT_EQ(reversed[static_cast<std::size_t>(i)], i / 256 * 256 + 255 - i % 256);
  }
}

TEST_F(CudaPrimitivesTest, DynamicSharedMemoryHasTheSizeOfTheLaunch) {
  for (int row_len : {1, 31, 32, 33, 100, 1024}) {
    DeviceBuffer<int> x = upload(iota(3 * row_len));
    EXPECT_OK(reverse_rows_dynamic(stream(), x.data(), 3, row_len));
    const std::vector<int> reversed = download(x);
    for (int i = 0; i < 3 * row_len; ++i) {
      ASSERT_EQ(reversed[static_cast<std::size_t>(i)],
                i / row_len * row_len + row_len - 1 - i % row_len);
    }
  }
}

TEST_F(CudaPrimitivesTest, ShufflesAndSharedMemorySumRows) {
  for (int row_len : {1, 5, 32, 33, 255, 256, 777, 1024}) {
    std::vector<float> in(static_cast<std::size_t>(4 * row_len));
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(i % 13);
    DeviceBuffer<float> in_buffer = upload(in);
    DeviceBuffer<float> out = allocate<float>(4);
    EXPECT_OK(sum_rows(stream(), in_buffer.data(), out.data(), 4, row_len));
    const std::vector<float> sums = download(out);
    for (int row = 0; row < 4; ++row) {
      const auto begin = in.begin() + row * row_len;
      ASSERT_EQ(sums[static_cast<std::size_t>(row)], std::accumulate(begin, begin + row_len, 0.0f));
    }
  }
}

// The value that CUDA's programming guide gives each lane.
int expected_source(Shuffle kind, int lane, int argument, int width) {
  const int first = lane - lane % width;
  switch (kind) {
    case Shuffle::kIdx:
      return first + argument % width;
    case Shuffle::kUp:
      return lane - argument < first ? lane : lane - argument;
    case Shuffle::kDown:
      return lane + argument >= first + width ? lane : lane + argument;
    case Shuffle::kXor:
      return (lane ^ argument) >= first + width ? lane : lane ^ argument;
  }
  return lane;
}

TEST_F(CudaPrimitivesTest, ShufflesReadTheLaneTheyName) {
  DeviceBuffer<int> out = allocate<int>(32);
  DeviceBuffer<double> out_wide = allocate<double>(32);
  for (Shuffle kind : {Shuffle::kIdx, Shuffle::kUp, Shuffle::kDown, Shuffle::kXor}) {
    for (int width : {1, 2, 4, 8, 16, 32}) {
      for (int argument : {0, 1, 2, 3, 5, 16, 31}) {
        EXPECT_OK(shuffle(stream(), kind, argument, width, out.data(), out_wide.data()));
        const std::vector<int> values = download(out);
        const std::vector<double> wide = download(out_wide);
        for (int lane = 0; lane < 32; ++lane) {
          const int source = expected_source(kind, lane, argument, width);
          ASSERT_EQ(values[static_cast<std::size_t>(lane)], 100 + source)
              << static_cast<int>(kind) << " width " << width << " argument " << argument;
          ASSERT_EQ(wide[static_cast<std::size_t>(lane)], 100.5 + source);
        }
      }
    }
  }
}

TEST_F(CudaPrimitivesTest, VotesCountTheLanesThatSayYes) {
  std::vector<int> in(64);
  for (std::size_t i = 0; i < 64; ++i)
    in[i] = i < 32 ? i % 3 == 0 : 1;
  DeviceBuffer<int> in_buffer = upload(in);
  DeviceBuffer<unsigned> out = allocate<unsigned>(64 * 9);
  EXPECT_OK(vote(stream(), in_buffer.data(), out.data()));
  const std::vector<unsigned> votes = download(out);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::vector<unsigned> got(votes.begin() + static_cast<std::ptrdiff_t>(9 * i),
                                    votes.begin() + static_cast<std::ptrdiff_t>(9 * i + 9));
    const std::vector<unsigned> expected =
        i < 32 ? std::vector<unsigned>{0x49249249u, 1, 0, 43, 0, 1, 11, 0, 1}
               : std::vector<unsigned>{0xffffffffu, 1, 1, 43, 0, 1, 32, 1, 1};
    ASSERT_EQ(got, expected) << "thread " << i;
  }
}

TEST_F(CudaPrimitivesTest, BarriersDoNotWaitForThreadsThatHaveExited) {
  for (int num_alive : {1, 31, 32, 33, 64, 99, 128}) {
    DeviceBuffer<int> out = allocate<int>(static_cast<std::size_t>(num_alive));
    EXPECT_OK(sync_after_exit(stream(), 128, num_alive, out.data()));
    std::vector<int> expected = iota(num_alive);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(download(out), expected);
  }
}

TEST_F(CudaPrimitivesTest, AtomicsLoseNothing) {
  std::vector<int> in(5000);
  std::vector<unsigned> expected(8);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<int>(i * i % 8);
    ++expected[static_cast<std::size_t>(in[i])];
  }
  DeviceBuffer<int> in_buffer = upload(in);
  DeviceBuffer<unsigned> counts = upload(std::vector<unsigned>(8));
  EXPECT_OK(histogram(stream(), in_buffer.data(), 5000, counts.data()));
  EXPECT_EQ(download(counts), expected);
}

TEST_F(CudaPrimitivesTest, AtomicsDoWhatTheirNamesSay) {
  DeviceBuffer<int> out = upload(std::vector<int>{0, 1000, -1000, 0, -1, 0, 0, 0});
  DeviceBuffer<float> sum = upload(std::vector<float>{0.0f});
  DeviceBuffer<double> wide_sum = upload(std::vector<double>{0.0});
  constexpr int kCount = 310;
  EXPECT_OK(atomics(stream(), kCount, out.data(), sum.data(), wide_sum.data()));
  constexpr int kSum = kCount * (kCount - 1) / 2;
  EXPECT_EQ(download(out), (std::vector<int>{kSum, 0, kCount - 1, 0x7fffffff,
                                             static_cast<int>(0x80000000u), 0, 7, 9}));
  EXPECT_EQ(download(sum)[0], static_cast<float>(kSum));
  EXPECT_EQ(download(wide_sum)[0], static_cast<double>(kSum));
}

TEST_F(CudaPrimitivesTest, ALockIsHeldByOneThread) {
  DeviceBuffer<int> out = upload(std::vector<int>{0, 0});
  EXPECT_OK(count_under_lock(stream(), 4, out.data()));
  EXPECT_EQ(download(out), (std::vector<int>{0, 4 * 64}));
}

TEST_F(CudaPrimitivesTest, AsynchronousCopiesFillUpWithZeros) {
  const std::vector<int> numbers = iota(128);
  const std::vector<float> in(numbers.begin(), numbers.end());
  for (int n : {128, 127, 126, 125, 124, 64, 3, 1}) {
    DeviceBuffer<float> in_buffer = upload(std::vector<float>(in.begin(), in.begin() + n));
    DeviceBuffer<float> out = allocate<float>(128);
    EXPECT_OK(copy_async(stream(), in_buffer.data(), n, out.data()));
    std::vector<float> expected = in;
    std::fill(expected.begin() + n, expected.end(), 0.0f);
    EXPECT_EQ(download(out), expected);
  }
}

TEST_F(CudaPrimitivesTest, LdmatrixSpreadsRowsOverLanes) {
  std::vector<std::uint16_t> tile(256);
  for (std::size_t i = 0; i < 256; ++i)
    tile[i] = static_cast<std::uint16_t>(i);
  DeviceBuffer<std::uint16_t> tile_buffer = upload(tile);
  DeviceBuffer<std::uint32_t> registers = allocate<std::uint32_t>(32 * 6);
  for (bool transposed : {false, true}) {
    EXPECT_OK(ldmatrix(stream(), transposed, tile_buffer.data(), registers.data()));
    const std::vector<std::uint32_t> got = download(registers);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned m = 0; m < 4; ++m) {
        const auto element = [&](unsigned i) {
          const unsigned row = transposed ? lane % 4 * 2 + i : lane / 4;
          const unsigned column = transposed ? lane / 4 : lane % 4 * 2 + i;
          return m * 64 + row * 8 + column;
        };
        const std::uint32_t expected = element(0) | element(1) << 16;
        ASSERT_EQ(got[4 * lane + m], expected) << "lane " << lane << " matrix " << m;
        if (m < 2) {
          ASSERT_EQ(got[128 + 2 * lane + m], expected);
        }
      }
    }
  }
}

// --- mma against plain loops
// -------------------------------------------------------------------------

template <typename T, typename Acc, typename ToNumber>
std::vector<Acc> multiply(const std::vector<T>& a, const std::vector<T>& b,
                          const std::vector<Acc>& c, int depth, ToNumber to_number) {
  std::vector<Acc> d = c;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      for (int k = 0; k < depth; ++k) {
        d[static_cast<std::size_t>(row * 8 + column)] +=
            to_number(a[static_cast<std::size_t>(row * depth + k)]) *
            to_number(b[static_cast<std::size_t>(k * 8 + column)]);
      }
    }
  }
  return d;
}

// Small integers: every order of summation gives the same.
template <typename T, typename Make>
std::vector<T> small_numbers(std::size_t size, unsigned seed, Make make) {
  std::mt19937 random(seed);
  std::vector<T> values(size);
  for (T& value : values)
    value = make(static_cast<int>(random() % 17) - 8);
  return values;
}

std::vector<float> accumulators() {
  return small_numbers<float>(128, 3, [](int i) { return static_cast<float>(i); });
}

TEST_F(CudaPrimitivesTest, MmaOfBf16EqualsPlainLoops) {
  const auto make = [](int i) { return from_float<Bf16>(static_cast<float>(i)); };
  const auto a = small_numbers<Bf16>(256, 1, make);
  const auto b = small_numbers<Bf16>(128, 2, make);
  const auto c = accumulators();
  DeviceBuffer<Bf16> a_buffer = upload(a);
  DeviceBuffer<Bf16> b_buffer = upload(b);
  DeviceBuffer<float> c_buffer = upload(c);
  DeviceBuffer<float> d = allocate<float>(128);
  EXPECT_OK(mma(stream(), a_buffer.data(), b_buffer.data(), c_buffer.data(), d.data()));
  const auto number = [](Bf16 value) { return to_float(value); };
  EXPECT_EQ(download(d), multiply(a, b, c, 16, number));
  EXPECT_OK(mma_by_ldmatrix(stream(), a_buffer.data(), b_buffer.data(), d.data()));
  EXPECT_EQ(download(d), multiply(a, b, std::vector<float>(128), 16, number));
}

TEST_F(CudaPrimitivesTest, MmaOfF16EqualsPlainLoops) {
  const auto make = [](int i) { return from_float<F16>(static_cast<float>(i) * 0.25f); };
  const auto a = small_numbers<F16>(256, 4, make);
  const auto b = small_numbers<F16>(128, 5, make);
  const auto c = accumulators();
  DeviceBuffer<F16> a_buffer = upload(a);
  DeviceBuffer<F16> b_buffer = upload(b);
  DeviceBuffer<float> c_buffer = upload(c);
  DeviceBuffer<float> d = allocate<float>(128);
  EXPECT_OK(mma(stream(), a_buffer.data(), b_buffer.data(), c_buffer.data(), d.data()));
  EXPECT_EQ(download(d), multiply(a, b, c, 16, [](F16 value) { return to_float(value); }));
}

TEST_F(CudaPrimitivesTest, MmaOfTf32EqualsPlainLoops) {
  const auto make = [](int i) { return static_cast<float>(i) * 0.5f; };
  const auto a = small_numbers<float>(128, 6, make);
  const auto b = small_numbers<float>(64, 7, make);
  const auto c = accumulators();
  DeviceBuffer<float> a_buffer = upload(a);
  DeviceBuffer<float> b_buffer = upload(b);
  DeviceBuffer<float> c_buffer = upload(c);
  DeviceBuffer<float> d = allocate<float>(128);
  EXPECT_OK(mma(stream(), a_buffer.data(), b_buffer.data(), c_buffer.data(), d.data()));
  EXPECT_EQ(download(d), multiply(a, b, c, 8, [](float value) { return value; }));
}

TEST_F(CudaPrimitivesTest, MmaOfBytesEqualsPlainLoops) {
  std::mt19937 random(8);
  const auto make = [&](int) { return static_cast<std::int8_t>(random()); };
  const auto a = small_numbers<std::int8_t>(512, 8, make);
  const auto b = small_numbers<std::int8_t>(256, 9, make);
  const auto c = small_numbers<std::int32_t>(128, 10, [](int i) { return i * 1000; });
  DeviceBuffer<std::int8_t> a_buffer = upload(a);
  DeviceBuffer<std::int8_t> b_buffer = upload(b);
  DeviceBuffer<std::int32_t> c_buffer = upload(c);
  DeviceBuffer<std::int32_t> d = allocate<std::int32_t>(128);
  EXPECT_OK(mma(stream(), a_buffer.data(), b_buffer.data(), c_buffer.data(), d.data()));
  EXPECT_EQ(download(d), multiply(a, b, c, 32, [](std::int8_t value) { return int{value}; }));
}

// --- numbers
// -----------------------------------------------------------------------------------------

TEST_F(CudaPrimitivesTest, ConversionsRoundToNearestEven) {
  const std::vector<float> in = {0.0f,     -0.0f,   1.0f,      1.00390625f, 1.01171875f, 1e-8f,
                                 -3.1415f, 65504.f, 65519.99f, 65520.0f,    1e-6f,       INFINITY};
  DeviceBuffer<float> in_buffer = upload(in);
  DeviceBuffer<float> out = allocate<float>(in.size());
  const int n = static_cast<int>(in.size());
  EXPECT_OK(round_to_bf16(stream(), in_buffer.data(), out.data(), n));
  const std::vector<float> as_bf16 = download(out);
  EXPECT_OK(round_to_f16(stream(), in_buffer.data(), out.data(), n));
  const std::vector<float> as_f16 = download(out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(as_bf16[i], bf16_to_f32(f32_to_bf16(in[i]))) << in[i];
    EXPECT_EQ(as_f16[i], f16_to_f32(f32_to_f16(in[i]))) << in[i];
  }
}

TEST_F(CudaPrimitivesTest, Tf32RoundsTiesAwayFromZero) {
  const std::vector<float> in = {1.0f, 1.0f + 0x1p-11f, 1.0f + 0x1p-12f, -1.0f - 0x1p-11f,
                                 INFINITY};
  DeviceBuffer<float> in_buffer = upload(in);
  DeviceBuffer<float> out = allocate<float>(in.size());
  EXPECT_OK(round_to_tf32(stream(), in_buffer.data(), out.data(), static_cast<int>(in.size())));
  EXPECT_EQ(download(out),
            (std::vector<float>{1.0f, 1.0f + 0x1p-10f, 1.0f, -1.0f - 0x1p-10f, INFINITY}));
}

}  // namespace
}  // namespace tvllm::cuda::test
