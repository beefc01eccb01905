// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/backend_cpu/tiny_model.h"

#include <cmath>
#include <utility>

#include "base/check.h"

namespace tvllm::testing {

namespace {

constexpr std::int32_t kHidden = 256;
constexpr std::int32_t kNumHeads = 6;
constexpr std::int32_t kNumKvHeads = 2;
constexpr std::int32_t kHeadDim = 32;
constexpr std::int32_t kQueryLen = kNumHeads * kHeadDim;
constexpr std::int32_t kKvLen = kNumKvHeads * kHeadDim;
constexpr std::int32_t kIntermediate = 288;
constexpr std::int32_t kRopeDim = 16;
constexpr float kEps = 1e-5f;

// The second layer has a sliding window, which leaves splits behind.
const backend::AttentionShape kShapes[] = {
    {kNumHeads, kNumKvHeads, kHeadDim, 0.1767767f},
    {kNumHeads, kNumKvHeads, kHeadDim, 0.1767767f, 100},
};

}  // namespace

TinyModel::TinyModel(backend::Backend& backend, const Options& options) : backend_(backend) {
  files_.reserve(32);
  embedding_ = matrix({{DType::kQ6_K, kVocabSize}});
  for (int i = 0; i < 2; ++i) {
    Layer layer;
    layer.attention_norm = norm();
    const DType v_type = i == 0 ? DType::kQ6_K : DType::kF16;
    layer.qkv = matrix({{DType::kQ4_K, kQueryLen}, {DType::kQ5_K, kKvLen}, {v_type, kKvLen}});
    layer.mlp_norm = norm();
    layer.gate_up = matrix({{DType::kQ4_1, kIntermediate}, {DType::kQ5_0, kIntermediate}});
    layers_.push_back(std::move(layer));
  }
  // Their inputs are shorter or longer than the hidden size.
  for (Layer& layer : layers_) {
    for (const auto& [to, num_cols] :
         {std::pair(&layer.attention_out, kQueryLen), std::pair(&layer.down, kIntermediate)}) {
      files_.push_back(random_weights(num_cols == kQueryLen ? DType::kQ4_0 : DType::kQ8_0, kHidden,
                                      num_cols, seed_++));
      const WeightView view = files_.back().view();
      *to = std::move(*backend.make_matrix({&view, 1}));
    }
  }
  final_norm_ = norm();
  cache_ = std::move(*backend.make_kv_cache(
      {2, kNumKvHeads, kHeadDim, options.block_size, options.num_blocks, options.kv_dtype}));
  for (int i = 0; i < kRopeDim / 2; ++i) {
    inv_freqs_.push_back(std::pow(10000.0f, -2.0f * static_cast<float>(i) / kRopeDim));
  }
  for (const auto& [tensor, num_cols] :
       {std::pair(&residual_, kHidden), std::pair(&normed_, kHidden),
        std::pair(&qkv_, kQueryLen + 2 * kKvLen), std::pair(&attended_, kQueryLen),
        std::pair(&delta_, kHidden), std::pair(&gate_up_, 2 * kIntermediate),
        std::pair(&gated_, kIntermediate), std::pair(&cos_sin_, kRopeDim),
        std::pair(&logits_, kVocabSize)}) {
    *tensor = Tensor(options.max_tokens, num_cols);
  }
}

std::unique_ptr<backend::Matrix> TinyModel::matrix(
    std::vector<std::pair<DType, std::int64_t>> parts) {
  std::vector<WeightView> views;
  for (const auto& [dtype, num_rows] : parts) {
    files_.push_back(random_weights(dtype, num_rows, kHidden, seed_++));
    views.push_back(files_.back().view());
  }
  return std::move(*backend_.make_matrix(views));
}

std::unique_ptr<backend::Buffer> TinyModel::norm() {
  files_.push_back(random_weights(DType::kF32, 1, kHidden, seed_++));
  return std::move(*backend_.make_vector(files_.back().view()));
}

FloatMatrix TinyModel::forward(const backend::PagedBatch& batch) {
  const std::int64_t num_tokens = batch.num_tokens();
  TVLLM_CHECK(num_tokens <= residual_.num_rows, num_tokens, " tokens");
  const auto rows = [num_tokens](Tensor& tensor) { return tensor.view().rows(0, num_tokens); };
  const backend::RopeParams rope{RopeStyle::kHalves, kRopeDim, inv_freqs_};
  backend_.embed(*embedding_, batch.token_ids, 1.0f, rows(residual_));
  backend_.rope_tables(rope, batch.positions, rows(cos_sin_));
  std::int32_t idx = 0;
  for (const Layer& layer : layers_) {
    if (idx == 0) {
      backend_.rms_norm(rows(residual_), *layer.attention_norm, kEps, rows(normed_));
    } else {
      backend_.add_rms_norm(rows(residual_), rows(delta_), *layer.attention_norm, kEps,
                            rows(normed_));
    }
    backend_.matmul(*layer.qkv, rows(normed_), nullptr, rows(qkv_));
    const backend::AttentionShape& shape = kShapes[idx];
    backend_.rope_and_write_kv(rows(qkv_), shape, rope, rows(cos_sin_), batch.kv_groups[0], *cache_,
                               idx);
    backend_.attention(rows(qkv_), shape, batch, 0, *cache_, idx, rows(attended_));
    backend_.matmul(*layer.attention_out, rows(attended_), nullptr, rows(delta_));
    backend_.add_rms_norm(rows(residual_), rows(delta_), *layer.mlp_norm, kEps, rows(normed_));
    backend_.matmul(*layer.gate_up, rows(normed_), nullptr, rows(gate_up_));
    backend_.silu_and_mul(rows(gate_up_), rows(gated_));
    backend_.matmul(*layer.down, rows(gated_), nullptr, rows(delta_));
    ++idx;
  }
  backend_.add_rms_norm(rows(residual_), rows(delta_), *final_norm_, kEps, rows(normed_));
  backend_.matmul(*embedding_, rows(normed_), nullptr, rows(logits_));
  backend_.synchronize();
  return rows(logits_);
}

}  // namespace tvllm::testing
