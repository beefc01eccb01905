// SPDX-License-Identifier: Apache-2.0
#include "model/gemma3.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "model/layer_groups.h"
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

// The file has 1 added to the norms' weights already.
struct Layer {
  std::unique_ptr<Buffer> attention_norm;  // [hidden_size]
  std::unique_ptr<Matrix> qkv;             // [(num_heads + 2 num_kv_heads) head_dim, hidden_size]
  std::unique_ptr<Buffer> q_norm;          // [head_dim]
  std::unique_ptr<Buffer> k_norm;          // [head_dim]
  std::unique_ptr<Matrix> attention_out;   // [hidden_size, num_heads head_dim]
  std::unique_ptr<Buffer> post_attention_norm;  // [hidden_size]
  std::unique_ptr<Buffer> mlp_norm;             // [hidden_size]
  std::unique_ptr<Matrix> gate_up;              // [2 intermediate_size, hidden_size], gate first
  std::unique_ptr<Matrix> down;                 // [hidden_size, intermediate_size]
  std::unique_ptr<Buffer> post_mlp_norm;        // [hidden_size]
};

struct Weights {
  std::unique_ptr<Matrix> embedding;  // [vocab_size, hidden_size], the output head too
  std::vector<Layer> layers;
  std::unique_ptr<Buffer> final_norm;  // [hidden_size]
};

constexpr std::array<std::string_view, 13> kLayerTensors = {
    "attn_norm.weight",           "attn_q.weight",      "attn_k.weight",      "attn_v.weight",
    "attn_q_norm.weight",         "attn_k_norm.weight", "attn_output.weight", "ffn_norm.weight",
    "post_attention_norm.weight", "ffn_gate.weight",    "ffn_up.weight",      "ffn_down.weight",
    "post_ffw_norm.weight"};
constexpr std::array<std::string_view, 2> kOtherTensors = {"token_embd.weight",
                                                           "output_norm.weight"};

Result<Layer> load_layer(const ModelConfig& c, const loader::WeightSource& source, Backend& backend,
                         std::int32_t layer_idx) {
  const auto name = [layer_idx](const char* suffix) {
    return str_cat("blk.", layer_idx, ".", suffix, ".weight");
  };
  const auto norm = [&](const char* suffix, std::int32_t length) {
    return load_vector(source, backend, name(suffix), length);
  };
  const std::int64_t q_rows = std::int64_t{c.num_heads} * c.head_dim;
  const std::int64_t kv_rows = std::int64_t{c.num_kv_heads} * c.head_dim;
  Layer layer;
  TVLLM_TRY(layer.attention_norm, norm("attn_norm", c.hidden_size));
  TVLLM_TRY(
      layer.qkv,
      load_matrix(source, backend,
                  {{name("attn_q"), q_rows}, {name("attn_k"), kv_rows}, {name("attn_v"), kv_rows}},
                  c.hidden_size));
  TVLLM_TRY(layer.q_norm, norm("attn_q_norm", c.head_dim));
  TVLLM_TRY(layer.k_norm, norm("attn_k_norm", c.head_dim));
  TVLLM_TRY(layer.attention_out,
            load_matrix(source, backend, {{name("attn_output"), c.hidden_size}}, q_rows));
  TVLLM_TRY(layer.post_attention_norm, norm("post_attention_norm", c.hidden_size));
  TVLLM_TRY(layer.mlp_norm, norm("ffn_norm", c.hidden_size));
  TVLLM_TRY(layer.gate_up, load_matrix(source, backend,
                                       {{name("ffn_gate"), c.intermediate_size},
                                        {name("ffn_up"), c.intermediate_size}},
                                       c.hidden_size));
  TVLLM_TRY(layer.down,
            load_matrix(source, backend, {{name("ffn_down"), c.hidden_size}}, c.intermediate_size));
  TVLLM_TRY(layer.post_mlp_norm, norm("post_ffw_norm", c.hidden_size));
  return layer;
}

Result<Weights> load_weights(const ModelConfig& c, const loader::WeightSource& source,
                             Backend& backend, const LoadProgress& on_progress) {
  TVLLM_RETURN_IF_ERROR(refuse_unread_tensors(source, c.num_layers, kLayerTensors, kOtherTensors));
  Weights weights;
  TVLLM_TRY(weights.embedding,
            load_matrix(source, backend, {{"token_embd.weight", c.vocab_size}}, c.hidden_size));
  for (std::int32_t i = 0; i < c.num_layers; ++i) {
    TVLLM_TRY(weights.layers.emplace_back(), load_layer(c, source, backend, i));
    if (on_progress) on_progress(i + 1, c.num_layers);
  }
  TVLLM_TRY(weights.final_norm, load_vector(source, backend, "output_norm.weight", c.hidden_size));
  return weights;
}

// What local layers and global layers have each for themselves.
struct LayerKind {
  Rotation rotation;
  AttentionShape shape;
};

AttentionShape shape_of(const ModelConfig& c, std::int32_t window) {
  return {c.num_heads, c.num_kv_heads, c.head_dim, c.query_scale, window};
}

class Gemma3 final : public Model {
 public:
  Gemma3(ModelConfig config, Weights weights, Backend& backend, const ModelLimits& limits)
      : config_(std::move(config)),
        weights_(std::move(weights)),
        backend_(backend),
        local_{{backend, config_, local_rope_inv_freqs(config_), limits},
               shape_of(config_, config_.sliding_window)},
        global_{{backend, config_, rope_inv_freqs(config_), limits}, shape_of(config_, 0)},
        groups_(group_layers(config_)),
        num_q_(config_.num_heads * config_.head_dim),
        num_k_(config_.num_kv_heads * config_.head_dim),
        work_(backend, config_, limits) {}

  const ModelConfig& config() const override { return config_; }
  const KvGroups& kv_groups() const override { return groups_.kv; }

  void forward(const PagedBatch& batch, backend::KvCache& cache) override {
    work_.num_tokens = batch.num_tokens();
    local_.rotation.fill(backend_, batch.positions);
    global_.rotation.fill(backend_, batch.positions);
    backend_.embed(*weights_.embedding, batch.token_ids,
                   std::sqrt(static_cast<float>(config_.hidden_size)),
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
    backend_.matmul(*weights_.embedding, hidden, nullptr, logits);
  }

 private:
  void attention(const Layer& layer, std::int32_t layer_idx, const PagedBatch& batch,
                 backend::KvCache& cache) {
    const std::int64_t n = work_.num_tokens;
    const float eps = config_.rms_norm_eps;
    const LayerKind& kind = config_.is_local_layer(layer_idx) ? local_ : global_;
    const LayerPlace place = groups_.places[static_cast<std::size_t>(layer_idx)];
    work_.norm(backend_, layer_idx == 0, *layer.attention_norm, eps);
    backend_.matmul(*layer.qkv, work_.normed.rows(n), nullptr, work_.qkv.rows(n));
    backend_.rms_norm_heads(work_.qkv.rows(n).as_float().cols(0, num_q_), *layer.q_norm, eps);
    backend_.rms_norm_heads(work_.qkv.rows(n).as_float().cols(num_q_, num_k_), *layer.k_norm, eps);
    backend_.rope_and_write_kv(
        work_.qkv.rows(n), kind.shape, kind.rotation.params(), kind.rotation.table(n),
        batch.kv_groups[static_cast<std::size_t>(place.group)], cache, place.layer);
    backend_.attention(work_.qkv.rows(n), kind.shape, batch, place.group, cache, place.layer,
                       work_.attended.rows(n));
    backend_.matmul(*layer.attention_out, work_.attended.rows(n), nullptr, work_.delta.rows(n));
    backend_.rms_norm(work_.delta.rows(n), *layer.post_attention_norm, eps, work_.delta.rows(n));
  }

  void mlp(const Layer& layer) {
    const std::int64_t n = work_.num_tokens;
    work_.norm(backend_, false, *layer.mlp_norm, config_.rms_norm_eps);
    backend_.matmul(*layer.gate_up, work_.normed.rows(n), nullptr, work_.gate_up.rows(n));
    backend_.gelu_and_mul(work_.gate_up.rows(n), work_.gated.rows(n));
    backend_.matmul(*layer.down, work_.gated.rows(n), nullptr, work_.delta.rows(n));
    backend_.rms_norm(work_.delta.rows(n), *layer.post_mlp_norm, config_.rms_norm_eps,
                      work_.delta.rows(n));
  }

  const ModelConfig config_;
  const Weights weights_;
  Backend& backend_;  // outlives the model
  const LayerKind local_;
  const LayerKind global_;
  const LayerGroups groups_;
  const std::int32_t num_q_, num_k_;  // columns of Q, and of K and V each
  DecoderWorkspace work_;
};

}  // namespace

Result<std::unique_ptr<Model>> make_gemma3(const ModelConfig& config,
                                           const loader::WeightSource& weights, Backend& backend,
                                           const ModelLimits& limits,
                                           const LoadProgress& on_progress) {
  TVLLM_TRY(Weights loaded, load_weights(config, weights, backend, on_progress));
  return std::unique_ptr<Model>(
      std::make_unique<Gemma3>(config, std::move(loaded), backend, limits));
}

}  // namespace tvllm::model
