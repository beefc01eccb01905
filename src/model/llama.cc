// SPDX-License-Identifier: Apache-2.0
#include "model/llama.h"

#include <array>
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
        rotation_(backend, config_, rope_inv_freqs(config_), limits),
        attention_shape_{config_.num_heads, config_.num_kv_heads, config_.head_dim,
                         config_.query_scale},
        kv_groups_{config_.num_layers, config_.num_kv_heads, config_.head_dim},
        work_(backend, config_, limits) {}

  const ModelConfig& config() const override { return config_; }
  const KvGroups& kv_groups() const override { return kv_groups_; }

  void forward(const PagedBatch& batch, backend::KvCache& cache) override {
    work_.num_tokens = batch.num_tokens();
    rotation_.fill(backend_, batch.positions);
    backend_.embed(*weights_.embedding, batch.token_ids, 1.0f,
                   work_.residual.rows(work_.num_tokens));
    for (std::int32_t i = 0; i < config_.num_layers; ++i) {
      const Layer& layer = weights_.layers[static_cast<std::size_t>(i)];
      attention(layer, i, batch, cache);
      mlp(layer);
    }
  }

  void compute_logits(std::span<const std::int32_t> rows, TensorView logits) override {
    const TensorView hidden =
        work_.final_hidden(backend_, rows, *weights_.final_norm, config_.rms_norm_eps);
    const Matrix& head = weights_.output ? *weights_.output : *weights_.embedding;
    backend_.matmul(head, hidden, nullptr, logits);
  }

 private:
  void attention(const Layer& layer, std::int32_t layer_idx, const PagedBatch& batch,
                 backend::KvCache& cache) {
    const std::int64_t n = work_.num_tokens;
    work_.norm(backend_, layer_idx == 0, *layer.attention_norm, config_.rms_norm_eps);
    backend_.matmul(*layer.qkv, work_.normed.rows(n), nullptr, work_.qkv.rows(n));
    backend_.rope_and_write_kv(work_.qkv.rows(n), attention_shape_, rotation_.params(),
                               rotation_.table(n), batch.kv_groups[0], cache, layer_idx);
    backend_.attention(work_.qkv.rows(n), attention_shape_, batch, 0, cache, layer_idx,
                       work_.attended.rows(n));
    backend_.matmul(*layer.attention_out, work_.attended.rows(n), nullptr, work_.delta.rows(n));
  }

  void mlp(const Layer& layer) {
    const std::int64_t n = work_.num_tokens;
    work_.norm(backend_, false, *layer.mlp_norm, config_.rms_norm_eps);
    backend_.matmul(*layer.gate_up, work_.normed.rows(n), nullptr, work_.gate_up.rows(n));
    backend_.silu_and_mul(work_.gate_up.rows(n), work_.gated.rows(n));
    backend_.matmul(*layer.down, work_.gated.rows(n), nullptr, work_.delta.rows(n));
  }

  const ModelConfig config_;
  const Weights weights_;
  Backend& backend_;  // outlives the model
  const Rotation rotation_;
  const AttentionShape attention_shape_;
  const KvGroups kv_groups_;
  DecoderWorkspace work_;
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
