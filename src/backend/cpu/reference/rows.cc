// SPDX-License-Identifier: Apache-2.0
// Operations on one row at a time: norms and gates.
#include <cmath>

#include "backend/cpu/reference/kernels.h"

namespace tvllm::cpu::reference {

namespace {

// In double, in eight interleaved sums that the compiler may keep in vectors.
double sum_of_squares(const float* x, std::int64_t num_cols) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= num_cols; c += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(x[c + lane]);
      lanes[lane] += value * value;
    }
  }
  double sum = 0.0;
  for (const double lane : lanes) {
    sum += lane;
  }
  for (; c < num_cols; ++c) {
    const double value = static_cast<double>(x[c]);
    sum += value * value;
  }
  return sum;
}

// out = gate * sigmoid(argument(gate)) * up
template <typename Argument>
void gate_rows(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end,
               Argument&& argument) {
  for (std::int64_t t = token_begin; t < token_end; ++t) {
    const float* gate = args.gate_up + t * args.gate_up_stride;
    const float* up = gate + args.num_cols;
    float* out = args.out + t * args.out_stride;
    for (std::int64_t f = 0; f < args.num_cols; ++f) {
      out[f] = gate[f] / (1.0f + std::exp(-argument(gate[f]))) * up[f];
    }
  }
}

}  // namespace

void rms_norm(const NormArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  for (std::int64_t t = token_begin; t < token_end; ++t) {
    float* x = args.x + t * args.x_stride;
    float* out = args.out + t * args.out_stride;
    if (args.delta != nullptr) {
      const float* delta = args.delta + t * args.delta_stride;
      for (std::int64_t c = 0; c < args.num_cols; ++c) {
        x[c] += delta[c];
      }
    }
    const double mean = sum_of_squares(x, args.num_cols) / static_cast<double>(args.num_cols);
    const float scale = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(args.eps)));
    for (std::int64_t c = 0; c < args.num_cols; ++c) {
      out[c] = x[c] * scale * args.weight[c];
    }
  }
}

void silu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  gate_rows(args, token_begin, token_end, [](float x) { return x; });
}

void gelu_and_mul(const GatedArgs& args, std::int64_t token_begin, std::int64_t token_end) {
  gate_rows(args, token_begin, token_end,
            [](float x) { return x * (kGeluLinear + kGeluCubic * x * x); });
}

}  // namespace tvllm::cpu::reference
