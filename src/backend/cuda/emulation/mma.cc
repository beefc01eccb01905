// SPDX-License-Identifier: Apache-2.0
// ldmatrix and mma.sync. In the comments g = lane / 4 and t = lane % 4, as in the PTX manual.
#include <array>
#include <bit>
#include <cstring>

#include "backend/cuda/emulation/access.h"
#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "backend/cuda/emulation/ptx_twins.h"
#include "tensor/half.h"

namespace tvllm::cuda::emulation {
namespace {

constexpr std::uint32_t kAllLanes = 0xffffffffu;

// --- ldmatrix
// ----------------------------------------------------------------------------------------

struct LoadInput {
  const void* row_address = nullptr;
  int num_matrices = 0;
  bool transposed = false;
};

// Lane 8 * m + r names row r of matrix m. A lane gets elements (g, 2t) and (g, 2t + 1) of each
// matrix, or (2t, g) and (2t + 1, g) of the transposed ones.
void complete_ldmatrix(const WarpExchange& exchange) {
  const auto& own = exchange.in_of<LoadInput>(0);
  for (int m = 0; m < own.num_matrices; ++m) {
    std::array<std::array<std::uint16_t, 8>, 8> matrix;
    for (int row = 0; row < 8; ++row) {
      const auto& input = exchange.in_of<LoadInput>(8 * m + row);
      copy_bytes(matrix[static_cast<std::size_t>(row)].data(), input.row_address, 16);
    }
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const auto g = static_cast<std::size_t>(lane / 4);
      const auto first = static_cast<std::size_t>(lane % 4 * 2);
      const std::uint32_t low = own.transposed ? matrix[first][g] : matrix[g][first];
      const std::uint32_t high = own.transposed ? matrix[first + 1][g] : matrix[g][first + 1];
      (&exchange.out_of<std::uint32_t>(lane))[m] = low | high << 16;
    }
  }
}

// --- mma
// ---------------------------------------------------------------------------------------------

struct MmaInput {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  const void* c = nullptr;
};

// Elements of a register, by the type's width.
float element_of(MmaType type, std::uint32_t reg, int i) {
  switch (type) {
    case MmaType::kBf16:
      return bf16_to_f32(static_cast<std::uint16_t>(reg >> 16 * i));
    case MmaType::kF16:
      return f16_to_f32(static_cast<std::uint16_t>(reg >> 16 * i));
    case MmaType::kTf32:
      return std::bit_cast<float>(reg & 0xffffe000u);  // the rest is not looked at
    case MmaType::kS8:
      break;
  }
  return 0.0f;
}
std::int32_t byte_of(std::uint32_t reg, int i) {
  return static_cast<std::int8_t>(reg >> 8 * i);
}

// Both operands lie in the lanes in the same way for every type, where `per_register` numbers share
// a register: register r of `a` holds row g + 8 * (r % 2), columns (t + 4 * (r / 2)) * per_register
// onwards; register r of `b` holds column g, rows (t + 4 * r) * per_register onwards.
template <typename T, int kPerRegister, typename Element>
struct Operands {
  static constexpr int kDepth = 8 * kPerRegister;
  T a[16][kDepth];
  T b[kDepth][8];

  Operands(const WarpExchange& exchange, Element element) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const auto& input = exchange.in_of<MmaInput>(lane);
      const int g = lane / 4;
      const int t = lane % 4;
      for (int r = 0; r < 4; ++r) {
        for (int i = 0; i < kPerRegister; ++i) {
          a[g + 8 * (r % 2)][(t + 4 * (r / 2)) * kPerRegister + i] = element(input.a[r], i);
        }
      }
      for (int r = 0; r < 2; ++r) {
        for (int i = 0; i < kPerRegister; ++i) {
          b[(t + 4 * r) * kPerRegister + i][g] = element(input.b[r], i);
        }
      }
    }
  }
};

// Accumulator i of a lane is (g + 8 * (i / 2), 2t + i % 2).
template <typename T, typename Product>
void store_products(const WarpExchange& exchange, Product product) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2);
      const int column = lane % 4 * 2 + i % 2;
      const T c = static_cast<const T*>(exchange.in_of<MmaInput>(lane).c)[i];
      (&exchange.out_of<T>(lane))[i] = product(row, column, c);
    }
  }
}

template <MmaType kType>
void complete_mma_f32(const WarpExchange& exchange) {
  constexpr int kPerRegister = kType == MmaType::kTf32 ? 1 : 2;
  const auto element = [](std::uint32_t reg, int i) { return element_of(kType, reg, i); };
  const Operands<float, kPerRegister, decltype(element)> operands(exchange, element);
  store_products<float>(exchange, [&](int row, int column, float sum) {
    for (int k = 0; k < operands.kDepth; ++k)
      sum += operands.a[row][k] * operands.b[k][column];
    return sum;
  });
}

void complete_mma_s32(const WarpExchange& exchange) {
  const auto element = [](std::uint32_t reg, int i) { return byte_of(reg, i); };
  const Operands<std::int32_t, 4, decltype(element)> operands(exchange, element);
  store_products<std::int32_t>(exchange, [&](int row, int column, std::int32_t c) {
    auto sum = static_cast<std::uint32_t>(c);
    for (int k = 0; k < operands.kDepth; ++k) {
      sum += static_cast<std::uint32_t>(operands.a[row][k] * operands.b[k][column]);
    }
    return static_cast<std::int32_t>(sum);
  });
}

// By MmaType.
constexpr WarpOperation kMma[] = {
    {.name = "mma.sync bf16", .complete = &complete_mma_f32<MmaType::kBf16>, .is_aligned = true},
    {.name = "mma.sync f16", .complete = &complete_mma_f32<MmaType::kF16>, .is_aligned = true},
    {.name = "mma.sync tf32", .complete = &complete_mma_f32<MmaType::kTf32>, .is_aligned = true},
    {.name = "mma.sync s8", .complete = &complete_mma_s32, .is_aligned = true}};

constexpr WarpOperation kLdmatrix[] = {
    {.name = "ldmatrix", .complete = &complete_ldmatrix, .is_aligned = true},
    {.name = "ldmatrix.trans", .complete = &complete_ldmatrix, .is_aligned = true}};

}  // namespace

void ldmatrix(std::uint32_t* registers, const void* row_address, int num_matrices, bool transposed,
              Place place) {
  const InEmulation guard("ldmatrix");
  BlockRunner& runner = *t_current.runner;
  if (runner.lane() < 8 * num_matrices) {
    if (!is_shared(row_address)) fault("ldmatrix reads shared memory, and a row's address is none");
    check_aligned_access(row_address, 16, AccessKind::kRead);
  }
  const LoadInput input = {
      .row_address = row_address, .num_matrices = num_matrices, .transposed = transposed};
  runner.warp_operation(kLdmatrix[transposed ? 1 : 0], kAllLanes, &input, registers, place);
}

void mma_f32(MmaType type, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
             const float (&c)[4], Place place) {
  const InEmulation guard("mma.sync");
  const MmaInput input = {.a = a, .b = b, .c = c};
  float result[4];  // d may be c
  t_current.runner->warp_operation(kMma[static_cast<std::size_t>(type)], kAllLanes, &input, result,
                                   place);
  std::memcpy(d, result, sizeof(result));
}

void mma_s32(std::int32_t (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
             const std::int32_t (&c)[4], Place place) {
  const InEmulation guard("mma.sync");
  const MmaInput input = {.a = a, .b = b, .c = c};
  std::int32_t result[4];
  t_current.runner->warp_operation(kMma[static_cast<std::size_t>(MmaType::kS8)], kAllLanes, &input,
                                   result, place);
  std::memcpy(d, result, sizeof(result));
}

}  // namespace tvllm::cuda::emulation
