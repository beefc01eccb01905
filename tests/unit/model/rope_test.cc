// SPDX-License-Identifier: Apache-2.0
#include "model/rope.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tvllm::model {
namespace {

// Expected values: NumPy, 1 / theta ** (2 i / d) in float32, and transformers' llama3 scaling
// (_compute_llama3_parameters) on top.

ModelConfig with_rope(float theta, std::int32_t rope_dim) {
  ModelConfig config;
  config.rope_theta = theta;
  config.rope_dim = rope_dim;
  return config;
}

TEST(RopeTest, FrequenciesFallFromOneByThePowerOfTheta) {
  const std::vector<float> inv_freqs = rope_inv_freqs(with_rope(100000.0f, 64));
  ASSERT_EQ(inv_freqs.size(), 32u);
  EXPECT_FLOAT_EQ(inv_freqs[0], 1.0f);
  EXPECT_FLOAT_EQ(inv_freqs[1], 0.6978305578231812f);
  EXPECT_FLOAT_EQ(inv_freqs[3], 0.33982083201408386f);
  EXPECT_FLOAT_EQ(inv_freqs[31], 1.4330126759887207e-05f);
}

TEST(RopeTest, LinearScalingDividesAll) {
  ModelConfig config = with_rope(100000.0f, 64);
  config.rope_scaling = {.kind = RopeScaling::Kind::kLinear, .factor = 4.0f};
  const std::vector<float> inv_freqs = rope_inv_freqs(config);
  EXPECT_FLOAT_EQ(inv_freqs[0], 0.25f);
  EXPECT_FLOAT_EQ(inv_freqs[1], 0.6978305578231812f / 4);
}

TEST(RopeTest, Llama3ScalingKeepsShortWavesDividesLongOnesAndBlendsBetween) {
  ModelConfig config = with_rope(500000.0f, 128);
  config.rope_scaling = {.kind = RopeScaling::Kind::kLlama3,
                         .factor = 8.0f,
                         .low_freq_factor = 1.0f,
                         .high_freq_factor = 4.0f,
                         .original_context_len = 8192};
  const std::vector<float> inv_freqs = rope_inv_freqs(config);
  const std::vector<std::pair<std::size_t, float>> expected = {{0, 1.0f},
                                                               {20, 0.016560440883040428f},
                                                               {28, 0.0032114461064338684f},
                                                               {30, 0.0013718936825171113f},
                                                               {33, 0.0003126936499029398f},
                                                               {36, 7.784655463183299e-05f},
                                                               {63, 3.068925877869333e-07f}};
  for (const auto& [i, value] : expected) {
    EXPECT_NEAR(inv_freqs[i] / value, 1.0f, 1e-5f) << i;
  }
}

TEST(RopeTest, FactorsOfTheFileDivideTheirFrequency) {
  ModelConfig config = with_rope(100000.0f, 4);
  config.rope_freq_factors = {1.0f, 8.0f};
  const std::vector<float> inv_freqs = rope_inv_freqs(config);
  EXPECT_FLOAT_EQ(inv_freqs[0], 1.0f);
  EXPECT_FLOAT_EQ(inv_freqs[1], 0.00316227766f / 8);
}

}  // namespace
}  // namespace tvllm::model
