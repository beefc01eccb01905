// SPDX-License-Identifier: Apache-2.0
#include "model/llama.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "model/rope.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace tvllm::model {

namespace {

using backend::AttentionShape;
using backend::Backend;
using backend::Buffer;
using backend::Matrix;
using backend::PagedBatch;
using backend::RopeParams;

struct Layer {
  std::unique_ptr<Buffer> attention_norm;  // [hidden_size]
  std::unique_ptr<Matrix> qkv;             // [(num_heads + 2 num_kv_heads) head_dim, hidden_size]
  std::unique_ptr<Matrix> attention_out;   // [hidden_size, num_heads head_dim]
  std::unique_ptr<Buffer> mlp_norm;        // [hidden_size]
  std::unique_ptr<Matrix> gate_up;         // [2 intermediate_size, hidden_size], gate first
  std::unique_ptr<Matrix> down;            // [hidden_size, intermediate_size]
};

struct Weights {
  std::unique_ptr<Matrix> embedding;  // [vocab_size, hidden_size]
  std::vector<Layer> layers;
  std::unique_ptr<Buffer> final_norm;  // [hidden_size]
  std::unique_ptr<Matrix> output;      // [vocab_size, hidden_size]; null: tied to the embedding
};

constexpr std::array<std::string_view, 9> kLayerTensors = {
    "attn_norm.weight", "attn_q.weight",   "attn_k.weight", "attn_v.weight",  "attn_output.weight",
    "ffn_norm.weight",  "ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"};
// rope_freqs.weight is in the configuration.
constexpr std::array<std::string_view, 4> kOtherTensors = {
    "token_embd.weight", "output_norm.weight", "output.weight", "rope_freqs.weight"};

Result<Layer> load_layer(const ModelConfig& c, const loader::WeightSource& source, Backend& backend,
                         std::int32_t layer_idx) {
  const auto name = [layer_idx](const char* suffix) {
    return str_cat("blk.", layer_idx, ".", suffix, ".weight");
  };
  const std::int64_t q_rows = std::int64_t{c.num_heads} * c.head_dim;
  const std::int64_t kv_rows = std::int64_t{c.num_kv_heads} * c.head_dim;
  Layer layer;
  TVLLM_TRY(layer.attention_norm, load_vector(source, backend, name("attn_norm"), c.hidden_size));
  TVLLM_TRY(
      layer.qkv,
      load_matrix(source, backend,
                  {{name("attn_q"), q_rows}, {name("attn_k"), kv_rows}, {name("attn_v"), kv_rows}},
                  c.hidden_size));
  TVLLM_TRY(layer.attention_out,
            load_matrix(source, backend, {{name("attn_output"), c.hidden_size}}, q_rows));
  TVLLM_TRY(layer.mlp_norm, load_vector(source, backend, name("ffn_norm"), c.hidden_size));
  TVLLM_TRY(layer.gate_up, load_matrix(source, backend,
                                       {{name("ffn_gate"), c.intermediate_size},
                                        {name("ffn_up"), c.intermediate_size}},
                                       c.hidden_size));
  TVLLM_TRY(layer.down,
            load_matrix(source, backend, {{name("ffn_down"), c.hidden_size}}, c.intermediate_size));
  return layer;
}

Result<Weights> load_weights(const ModelConfig& c, const loader::WeightSource& source,
                             Backend& backend, const LoadProgress& on_progress) {
  TVLLM_RETURN_IF_ERROR(refuse_unread_tensors(source, c.num_layers, kLayerTensors, kOtherTensors));
  Weights weights;
  TVLLM_TRY(weights.embedding,
            load_matrix(source, backend, {{"token_embd.weight", c.vocab_size}}, c.hidden_size));
  for (std::int32_t i = 0; i < c.num_layers; ++i) {
    TVLLM_TRY(Layer layer, load_layer(c, source, backend, i));
    weights.layers.push_back(std::move(layer));
    if (on_progress) on_progress(i + 1, c.num_layers);
  }
  TVLLM_TRY(weights.final_norm, load_vector(source, backend, "output_norm.weight", c.hidden_size));
  if (source.find("output.weight") != nullptr) {
    TVLLM_TRY(weights.output,
              load_matrix(source, backend, {{"output.weight", c.vocab_size}}, c.hidden_size));
  }
  return weights;
}

class Llama final : public Model {
 public:
  Llama(ModelConfig config, Weights weights, Backend& backend, const ModelLimits& limits)
      : config_(std::move(config)),
        weights_(std::move(weights)),
        backend_(backend),
        inv_freqs_(rope_inv_freqs(config_)),
        rope_{config_.rope_style, config_.rope_dim, inv_freqs_},
        attention_shape_{config_.num_heads, config_.num_kv_heads, config_.head_dim,
                         1.0f / std::sqrt(static_cast<float>(config_.head_dim))},
        kv_groups_{{config_.num_layers, config_.num_kv_heads, config_.head_dim}},
        num_qkv_((config_.num_heads + 2 * config_.num_kv_heads) * config_.head_dim),
        residual_(backend, limits.max_num_tokens, config_.hidden_size),
        delta_(backend, limits.max_num_tokens, config_.hidden_size),
        normed_(backend, limits.max_num_tokens, config_.hidden_size),
        qkv_(backend, limits.max_num_tokens, num_qkv_),
        attended_(backend, limits.max_num_tokens, config_.num_heads * config_.head_dim),
        gate_up_(backend, limits.max_num_tokens, 2 * config_.intermediate_size),
        gated_(backend, limits.max_num_tokens, config_.intermediate_size),
        cos_sin_(backend, limits.max_num_tokens, config_.rope_dim),
        head_residual_(backend, limits.max_logit_rows, config_.hidden_size),
        head_delta_(backend, limits.max_logit_rows, config_.hidden_size),
        head_normed_(backend, limits.max_logit_rows, config_.hidden_size) {}

  const ModelConfig& config() const override { return config_; }
  std::span<const KvGroup> kv_groups() const override { return kv_groups_; }

  void forward(const PagedBatch& batch, KvCaches caches) override {
    num_tokens_ = batch.num_tokens();
    backend_.rope_tables(rope_, batch.positions, cos_sin_.rows(num_tokens_));
    backend_.embed(*weights_.embedding, batch.token_ids, residual_.rows(num_tokens_));
    for (std::int32_t i = 0; i < config_.num_layers; ++i) {
      const Layer& layer = weights_.layers[static_cast<std::size_t>(i)];
      attention(layer, i, batch, *caches[0]);
      mlp(layer);
    }
  }

  void compute_logits(std::span<const std::int32_t> rows, TensorView logits) override {
    const auto n = static_cast<std::int64_t>(rows.size());
    backend_.gather_rows(residual_.rows(num_tokens_), rows, head_residual_.rows(n));
    backend_.gather_rows(delta_.rows(num_tokens_), rows, head_delta_.rows(n));
    backend_.add_rms_norm(head_residual_.rows(n), head_delta_.rows(n), *weights_.final_norm,
                          config_.rms_norm_eps, head_normed_.rows(n));
    const Matrix& head = weights_.output ? *weights_.output : *weights_.embedding;
    backend_.matmul(head, head_normed_.rows(n), nullptr, logits);
  }

 private:
  void attention(const Layer& layer, std::int32_t layer_idx, const PagedBatch& batch,
                 backend::KvCache& cache) {
    const std::int64_t n = num_tokens_;
    if (layer_idx == 0) {  // nothing to add to the embedding yet
      backend_.rms_norm(residual_.rows(n), *layer.attention_norm, config_.rms_norm_eps,
                        normed_.rows(n));
    } else {
      backend_.add_rms_norm(residual_.rows(n), delta_.rows(n), *layer.attention_norm,
                            config_.rms_norm_eps, normed_.rows(n));
    }
    backend_.matmul(*layer.qkv, normed_.rows(n), nullptr, qkv_.rows(n));
    backend_.rope_and_write_kv(qkv_.rows(n), attention_shape_, rope_, cos_sin_.rows(n),
                               batch.kv_groups[0], cache, layer_idx);
    backend_.attention(qkv_.rows(n), attention_shape_, batch, 0, cache, layer_idx,
                       attended_.rows(n));
    backend_.matmul(*layer.attention_out, attended_.rows(n), nullptr, delta_.rows(n));
  }

  void mlp(const Layer& layer) {
    const std::int64_t n = num_tokens_;
    backend_.add_rms_norm(residual_.rows(n), delta_.rows(n), *layer.mlp_norm, config_.rms_norm_eps,
                          normed_.rows(n));
    backend_.matmul(*layer.gate_up, normed_.rows(n), nullptr, gate_up_.rows(n));
    backend_.silu_and_mul(gate_up_.rows(n), gated_.rows(n));
    backend_.matmul(*layer.down, gated_.rows(n), nullptr, delta_.rows(n));
  }

  const ModelConfig config_;
  const Weights weights_;
  Backend& backend_;                    // outlives the model
  const std::vector<float> inv_freqs_;  // [rope_dim / 2]
  const RopeParams rope_;
  const AttentionShape attention_shape_;
  const std::vector<KvGroup> kv_groups_;
  const std::int32_t num_qkv_;

  std::int64_t num_tokens_ = 0;  // of the last forward()
  Activation residual_;          // [T, hidden_size], the stream that layers add to
  Activation delta_;             // [T, hidden_size], what the last half layer adds to it
  Activation normed_;            // [T, hidden_size]
  Activation qkv_;               // [T, (num_heads + 2 num_kv_heads) head_dim]
  Activation attended_;          // [T, num_heads head_dim]
  Activation gate_up_;           // [T, 2 intermediate_size]
  Activation gated_;             // [T, intermediate_size]
  Activation cos_sin_;           // [T, rope_dim]
  Activation head_residual_;     // [R, hidden_size], R rows that need logits
  Activation head_delta_;        // [R, hidden_size]
  Activation head_normed_;       // [R, hidden_size]
};

}  // namespace

Result<std::unique_ptr<Model>> make_llama(const ModelConfig& config,
                                          const loader::WeightSource& weights, Backend& backend,
                                          const ModelLimits& limits,
                                          const LoadProgress& on_progress) {
  TVLLM_TRY(Weights loaded, load_weights(config, weights, backend, on_progress));
  return std::unique_ptr<Model>(
      std::make_unique<Llama>(config, std::move(loaded), backend, limits));
}

}  // namespace tvllm::model
