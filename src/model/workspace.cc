// SPDX-License-Identifier: Apache-2.0
#include "model/workspace.h"

namespace tvllm::model {

DecoderWorkspace::DecoderWorkspace(backend::Backend& backend, const ModelConfig& c,
                                   const ModelLimits& limits)
    : residual(backend, limits.max_num_tokens, c.hidden_size),
      delta(backend, limits.max_num_tokens, c.hidden_size),
      normed(backend, limits.max_num_tokens, c.hidden_size),
      qkv(backend, limits.max_num_tokens, (c.num_heads + 2 * c.num_kv_heads) * c.head_dim),
      attended(backend, limits.max_num_tokens, c.num_heads * c.head_dim),
      gate_up(backend, limits.max_num_tokens, 2 * c.intermediate_size),
      gated(backend, limits.max_num_tokens, c.intermediate_size),
      head_residual(backend, limits.max_logit_rows, c.hidden_size),
      head_delta(backend, limits.max_logit_rows, c.hidden_size),
      head_normed(backend, limits.max_logit_rows, c.hidden_size) {}

void DecoderWorkspace::norm(backend::Backend& backend, bool is_first, const backend::Buffer& weight,
                            float eps) {
  const TensorView sum = residual.rows(num_tokens);
  if (is_first) {
    backend.rms_norm(sum, weight, eps, normed.rows(num_tokens));
  } else {
    backend.add_rms_norm(sum, delta.rows(num_tokens), weight, eps, normed.rows(num_tokens));
  }
}

TensorView DecoderWorkspace::final_hidden(backend::Backend& backend,
                                          std::span<const std::int32_t> rows,
                                          const backend::Buffer& norm, float eps) const {
  const auto n = static_cast<std::int64_t>(rows.size());
  backend.gather_rows(residual.rows(num_tokens), rows, head_residual.rows(n));
  backend.gather_rows(delta.rows(num_tokens), rows, head_delta.rows(n));
  backend.add_rms_norm(head_residual.rows(n), head_delta.rows(n), norm, eps, head_normed.rows(n));
  return head_normed.rows(n);
}

}  // namespace tvllm::model
