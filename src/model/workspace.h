// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "core/model_config.h"
#include "model/model.h"

namespace tvllm::model {

// A matrix of activations in the backend's memory, as large as the largest batch needs it.
class Activation {
 public:
  Activation(backend::Backend& backend, std::int64_t max_rows, std::int64_t num_cols)
      : buffer_(backend.allocate(static_cast<std::size_t>(max_rows * num_cols) * sizeof(float))),
        num_cols_(num_cols) {}

  // The first `num_rows` rows: [num_rows, num_cols].
  TensorView rows(std::int64_t num_rows) const {
    return FloatMatrix(static_cast<float*>(buffer_->data()), num_rows, num_cols_);
  }

 private:
  std::unique_ptr<backend::Buffer> buffer_;
  std::int64_t num_cols_;
};

// A rotation of Q and K, and the table that its layers share in a step.
class Rotation {
 public:
  Rotation(backend::Backend& backend, const ModelConfig& config, std::vector<float> inv_freqs,
           const ModelLimits& limits)
      : inv_freqs_(std::move(inv_freqs)),
        params_{config.rope_style, config.rope_dim, inv_freqs_},
        cos_sin_(backend, limits.max_num_tokens, config.rope_dim) {}
  Rotation(const Rotation&) = delete;  // params_ refers to inv_freqs_
  Rotation& operator=(const Rotation&) = delete;

  void fill(backend::Backend& backend, std::span<const std::int32_t> positions) const {
    backend.rope_tables(params_, positions, table(static_cast<std::int64_t>(positions.size())));
  }
  const backend::RopeParams& params() const { return params_; }
  TensorView table(std::int64_t num_tokens) const { return cos_sin_.rows(num_tokens); }

 private:
  const std::vector<float> inv_freqs_;  // [rope_dim / 2]
  const backend::RopeParams params_;
  const Activation cos_sin_;  // [T, rope_dim]
};

// What a decoder of attention and gated MLPs computes on its way through the layers.
struct DecoderWorkspace {
  DecoderWorkspace(backend::Backend& backend, const ModelConfig& config, const ModelLimits& limits);

  // normed = rms_norm(residual), once delta is added to it: before the first layer there is none.
  void norm(backend::Backend& backend, bool is_first, const backend::Buffer& weight, float eps);

  // The final hidden states of these rows of the last forward(), normalized: [rows.size(),
  // hidden_size].
  TensorView final_hidden(backend::Backend& backend, std::span<const std::int32_t> rows,
                          const backend::Buffer& norm, float eps) const;

  std::int64_t num_tokens = 0;  // of the last forward()
  Activation residual;          // [T, hidden_size], the stream that layers add to
  Activation delta;             // [T, hidden_size], what the last half layer adds to it
  Activation normed;            // [T, hidden_size]
  Activation qkv;               // [T, (num_heads + 2 num_kv_heads) head_dim]
  Activation attended;          // [T, num_heads head_dim]
  Activation gate_up;           // [T, 2 intermediate_size]
  Activation gated;             // [T, intermediate_size]
  Activation head_residual;     // [R, hidden_size], R rows that need logits
  Activation head_delta;        // [R, hidden_size]
  Activation head_normed;       // [R, hidden_size]
};

}  // namespace tvllm::model
