// SPDX-License-Identifier: Apache-2.0
// Every rung of the matmul ladder against plain loops, at shapes that fit no tile.
#include "examples/matmul/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/backend_cuda/cuda_fixture.h"

namespace tvllm::examples {
namespace {

using cuda::DeviceBuffer;
using cuda::from_float;
using cuda::to_float;

class MatmulLadderTest : public cuda::test::CudaTest {
 protected:
  // The largest error over the elements, as a share of the sum of products' magnitudes.
  template <typename T>
  double worst_error(MatmulFn<T> matmul, MatmulShape shape, unsigned seed) {
    const auto [m, n, k] = shape;
    std::mt19937 random(seed);
    const auto make = [&](int rows, int columns) {
      std::vector<T> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
      for (T& value : values) {
        value =
            from_float<T>(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000.0f);
      }
      return values;
    };
    const std::vector<T> a = make(m, k);
    const std::vector<T> b = make(k, n);
    DeviceBuffer<T> a_buffer = upload(a);
    DeviceBuffer<T> b_buffer = upload(b);
    // One row more than the product needs: it must stay as it is.
    DeviceBuffer<T> c_buffer =
        upload(std::vector<T>(static_cast<std::size_t>((m + 1) * n), from_float<T>(77.0f)));
    EXPECT_OK(matmul(stream(), {a_buffer.data(), b_buffer.data(), c_buffer.data(), shape}));
    const std::vector<T> c = download(c_buffer);
    double worst = 0.0;
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        double sum = 0.0;
        double magnitude = 0.0;
        for (int i = 0; i < k; ++i) {
          const double term =
              static_cast<double>(to_float(a[static_cast<std::size_t>(row * k + i)])) *
              static_cast<double>(to_float(b[static_cast<std::size_t>(i * n + column)]));
          sum += term;
          magnitude += std::abs(term);
        }
        const auto got =
            static_cast<double>(to_float(c[static_cast<std::size_t>(row * n + column)]));
        const double error = std::abs(got - sum) / std::max(magnitude, 1e-6);
        worst =
            std::isfinite(got) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
      }
    }
    for (int column = 0; column < n; ++column) {
      EXPECT_EQ(to_float(c[static_cast<std::size_t>(m * n + column)]), 77.0f)
          << "written behind the end";
    }
    return worst;
  }
};

constexpr MatmulShape kShapes[] = {{1, 1, 1},     {1, 130, 3},    {129, 1, 40},
                                   {3, 5, 7},     {17, 33, 65},   {128, 128, 32},
                                   {64, 136, 96}, {130, 129, 50}, {131, 264, 72}};

std::string name_of(const Rung& rung, MatmulShape shape) {
  return std::string(rung.name) + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n) +
         "x" + std::to_string(shape.k);
}

TEST_F(MatmulLadderTest, EveryRungMultipliesF32) {
  for (const Rung& rung : matmul_rungs()) {
    if (rung.f32 == nullptr) continue;
    // Tf32 keeps 10 bits of a number: half a unit of each factor.
    const double bound = rung.rounds_to_tf32 ? 0x1p-10 : 2e-6;
    for (const MatmulShape shape : kShapes) {
      EXPECT_LE(worst_error(rung.f32, shape, 1), bound) << name_of(rung, shape);
    }
  }
}

TEST_F(MatmulLadderTest, EveryRungMultipliesBf16) {
  for (const Rung& rung : matmul_rungs()) {
    if (rung.bf16 == nullptr) continue;
    if (rung.is_device_only && device().properties().compute_capability != 90) continue;
    for (const MatmulShape shape : kShapes) {  // the result has 8 bits
      EXPECT_LE(worst_error(rung.bf16, shape, 2), 0x1p-8) << name_of(rung, shape);
    }
  }
}

}  // namespace
}  // namespace tvllm::examples
