// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tvllm::bench {

// 12 independent chains, as many as hide the latency of any of these instructions. The result is
// of no use but to the compiler, which must not leave the loop out.
inline constexpr int kChains = 12;

// vpmaddubsw and vpaddw: kChains * 32 products of bytes an iteration.
std::int64_t multiply_bytes_avx2(std::int64_t num_iterations);
inline constexpr double kByteOpsPerIteration = kChains * 32 * 2;

// vfmadd231ps: kChains * 8 fused multiply-adds an iteration.
float multiply_floats_avx2(std::int64_t num_iterations);
inline constexpr double kFloatOpsPerIteration = kChains * 8 * 2;

}  // namespace tvllm::bench
