// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <cmath>
#include <numbers>

namespace tvllm::model {

namespace {

float scale_frequency(float inv_freq, const RopeScaling& scaling) {
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone:
      return inv_freq;
    case RopeScaling::Kind::kLinear:
      return inv_freq / scaling.factor;
    case RopeScaling::Kind::kLlama3:
      break;
  }
  const float context_len = static_cast<float>(scaling.original_context_len);
  const float wavelength = 2 * std::numbers::pi_v<float> / inv_freq;
  if (wavelength < context_len / scaling.high_freq_factor) return inv_freq;
  if (wavelength > context_len / scaling.low_freq_factor) return inv_freq / scaling.factor;
  const float smooth = (context_len / wavelength - scaling.low_freq_factor) /
                       (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - smooth) * inv_freq / scaling.factor + smooth * inv_freq;
}

}  // namespace

std::vector<float> rope_inv_freqs(const ModelConfig& config) {
  std::vector<float> inv_freqs(static_cast<std::size_t>(config.rope_dim / 2));
  for (std::size_t i = 0; i < inv_freqs.size(); ++i) {
    // As HF computes it: exponent and power in f32.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rope_dim);
    float inv_freq = 1.0f / std::pow(config.rope_theta, exponent);
    if (i < config.rope_freq_factors.size()) inv_freq /= config.rope_freq_factors[i];
    inv_freqs[i] = scale_frequency(inv_freq, config.rope_scaling);
  }
  return inv_freqs;
}

std::vector<float> local_rope_inv_freqs(const ModelConfig& config) {
  ModelConfig local = config;
  local.rope_theta = config.local_rope_theta;
  local.rope_scaling = {};
  local.rope_freq_factors.clear();
  return rope_inv_freqs(local);
}

}  // namespace tvllm::model
