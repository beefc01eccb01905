// SPDX-License-Identifier: Apache-2.0
#include "tests/parity/prepared_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tests/support/ops/naive_ops.h"
#include "tests/support/ops/ragged_batch.h"
#include "tests/support/ops/random_tensors.h"

namespace tvllm::testing {

namespace {

using backend::Backend;

constexpr std::uint32_t kSeed = 7000;
constexpr float kEps = 1e-5f;

std::unique_ptr<backend::Buffer> make_vector(Backend& backend, std::vector<float>& values) {
  const WeightView view{DType::kF32, 1, static_cast<std::int64_t>(values.size()),
                        reinterpret_cast<const std::byte*>(values.data())};
  auto buffer = backend.make_vector(view);
  TVLLM_CHECK(buffer.has_value(), buffer.error().message);
  return std::move(*buffer);
}

std::vector<float> inverse_frequencies(std::int32_t rope_dim) {
  std::vector<float> inv_freqs;
  for (std::int32_t i = 0; i < rope_dim / 2; ++i) {
    inv_freqs.push_back(
        1.0f / std::pow(10000.0f, static_cast<float>(2 * i) / static_cast<float>(rope_dim)));
  }
  return inv_freqs;
}

// The weights of a case, one matrix a part.
struct StackedWeights {
  StackedWeights(Backend& backend, const OpCase& c) {
    std::vector<WeightView> views;
    for (const MatrixPart& part : c.parts) {
      weights.push_back(random_weights(part.dtype, part.num_rows, c.num_cols,
                                       kSeed + static_cast<std::uint32_t>(weights.size())));
    }
    for (const Weights& part : weights) {
      views.push_back(part.view());
    }
    auto made = backend.make_matrix(views);
    TVLLM_CHECK(made.has_value(), made.error().message);
    matrix = std::move(*made);
  }

  naive::Matrix dequantized() const {
    naive::Matrix all(matrix->num_rows(), matrix->num_cols());
    all.data.clear();
    for (const Weights& part : weights) {
      const naive::Matrix rows = naive::dequantize(part);
      all.data.insert(all.data.end(), rows.data.begin(), rows.data.end());
    }
    return all;
  }

  std::vector<Weights> weights;
  std::unique_ptr<backend::Matrix> matrix;
};

class Embed final : public PreparedOp {
 public:
  Embed(Backend& backend, const OpCase& c)
      : backend_(backend),
        table_(backend, c),
        ids_(random_integers(static_cast<std::size_t>(c.num_tokens),
                             static_cast<std::int32_t>(table_.matrix->num_rows()), kSeed)),
        scale_(c.num_tokens % 2 == 0 ? 25.25f : 1.0f),
        out_(c.num_tokens, c.num_cols) {}

  void run() override { backend_.embed(*table_.matrix, ids_, scale_, out_.view()); }
  std::vector<float> result() override { return out_.data; }
  std::vector<double> expected() override {
    const naive::Matrix table = table_.dequantized();
    std::vector<double> rows;
    for (const std::int32_t id : ids_) {
      for (std::int64_t c = 0; c < table.num_cols; ++c) {
        rows.push_back(static_cast<double>(scale_) * table.at(id, c));
      }
    }
    return rows;
  }

 private:
  Backend& backend_;
  StackedWeights table_;
  std::vector<std::int32_t> ids_;
  const float scale_;
  Tensor out_;
};

class Matmul final : public PreparedOp {
 public:
  Matmul(Backend& backend, const OpCase& c)
      : backend_(backend),
        weights_(backend, c),
        x_(random_tensor(c.num_tokens, c.num_cols, kSeed + 50)),
        out_(c.num_tokens, weights_.matrix->num_rows()) {
    if (!c.has_bias) return;
    bias_values_ = random_tensor(1, out_.num_cols, kSeed + 51).data;
    bias_ = make_vector(backend, bias_values_);
  }

  void run() override { backend_.matmul(*weights_.matrix, x_.view(), bias_.get(), out_.view()); }
  std::vector<float> result() override { return out_.data; }
  std::vector<double> expected() override {
    naive::Matrix out = naive::matmul(naive::Matrix(x_), weights_.dequantized());
    for (std::int64_t t = 0; t < out.num_rows && bias_ != nullptr; ++t) {
      for (std::int64_t r = 0; r < out.num_cols; ++r) {
        out.at(t, r) += static_cast<double>(bias_values_[static_cast<std::size_t>(r)]);
      }
    }
    return out.data;
  }

 private:
  Backend& backend_;
  StackedWeights weights_;
  Tensor x_;
  std::vector<float> bias_values_;
  std::unique_ptr<backend::Buffer> bias_;
  Tensor out_;
};

class Norm final : public PreparedOp {
 public:
  Norm(Backend& backend, const OpCase& c)
      : backend_(backend),
        adds_(c.op == OpKind::kAddRmsNorm),
        x_(random_tensor(c.num_tokens, c.num_cols, kSeed)),
        delta_(random_tensor(c.num_tokens, c.num_cols, kSeed + 1)),
        weight_values_(random_tensor(1, c.num_cols, kSeed + 2).data),
        weight_(make_vector(backend, weight_values_)),
        sum_(x_),
        out_(c.num_tokens, c.num_cols) {}

  void run() override {
    if (adds_) {
      sum_ = x_;
      backend_.add_rms_norm(sum_.view(), delta_.view(), *weight_, kEps, out_.view());
    } else {
      backend_.rms_norm(x_.view(), *weight_, kEps, out_.view());
    }
  }
  // The residual is a result as well.
  std::vector<float> result() override {
    std::vector<float> both = out_.data;
    both.insert(both.end(), sum_.data.begin(), sum_.data.end());
    return both;
  }
  std::vector<double> expected() override {
    naive::Matrix sum(x_);
    for (std::size_t i = 0; i < sum.data.size() && adds_; ++i) {
      sum.data[i] += static_cast<double>(delta_.data[i]);
    }
    std::vector<double> both = naive::rms_norm(sum, weight_values_, static_cast<double>(kEps)).data;
    both.insert(both.end(), sum.data.begin(), sum.data.end());
    return both;
  }

 private:
  Backend& backend_;
  const bool adds_;
  Tensor x_;
  Tensor delta_;
  std::vector<float> weight_values_;
  std::unique_ptr<backend::Buffer> weight_;
  Tensor sum_;
  Tensor out_;
};

class Gate final : public PreparedOp {
 public:
  Gate(Backend& backend, const OpCase& c)
      : backend_(backend),
        op_(c.op),
        gate_up_(random_tensor(c.num_tokens, 2 * c.num_cols, kSeed, 3.0)),
        out_(c.num_tokens, c.num_cols) {}

  void run() override {
    if (op_ == OpKind::kSiluAndMul) {
      backend_.silu_and_mul(gate_up_.view(), out_.view());
    } else {
      backend_.gelu_and_mul(gate_up_.view(), out_.view());
    }
  }
  std::vector<float> result() override { return out_.data; }
  std::vector<double> expected() override {
    const naive::Matrix gate_up(gate_up_);
    return op_ == OpKind::kSiluAndMul ? naive::silu_and_mul(gate_up).data
                                      : naive::gelu_and_mul(gate_up).data;
  }

 private:
  Backend& backend_;
  const OpKind op_;
  Tensor gate_up_;
  Tensor out_;
};

class GatherRows final : public PreparedOp {
 public:
  GatherRows(Backend& backend, const OpCase& c)
      : backend_(backend),
        x_(random_tensor(c.num_tokens, c.num_cols, kSeed)),
        rows_(random_integers(static_cast<std::size_t>(c.num_tokens),
                              static_cast<std::int32_t>(c.num_tokens), kSeed)),
        out_(c.num_tokens, c.num_cols) {}

  void run() override { backend_.gather_rows(x_.view(), rows_, out_.view()); }
  std::vector<float> result() override { return out_.data; }
  std::vector<double> expected() override {
    std::vector<double> out;
    for (const std::int32_t row : rows_) {
      out.insert(out.end(), x_.row(row), x_.row(row) + x_.num_cols);
    }
    return out;
  }

 private:
  Backend& backend_;
  Tensor x_;
  std::vector<std::int32_t> rows_;
  Tensor out_;
};

class RopeTables final : public PreparedOp {
 public:
  RopeTables(Backend& backend, const OpCase& c)
      : backend_(backend),
        inv_freqs_(inverse_frequencies(c.rope_dim)),
        rope_{c.rope_style, c.rope_dim, inv_freqs_},
        positions_(random_integers(static_cast<std::size_t>(c.num_tokens), 131072, kSeed)),
        out_(c.num_tokens, c.rope_dim) {}

  void run() override { backend_.rope_tables(rope_, positions_, out_.view()); }
  std::vector<float> result() override { return out_.data; }
  std::vector<double> expected() override {
    std::vector<double> out;
    for (const std::int32_t position : positions_) {
      std::vector<double> cosines;
      std::vector<double> sines;
      for (const float inv_freq : inv_freqs_) {
        const float angle = static_cast<float>(position) * inv_freq;
        cosines.push_back(std::cos(static_cast<double>(angle)));
        sines.push_back(std::sin(static_cast<double>(angle)));
      }
      out.insert(out.end(), cosines.begin(), cosines.end());
      out.insert(out.end(), sines.begin(), sines.end());
    }
    return out;
  }

 private:
  Backend& backend_;
  std::vector<float> inv_freqs_;
  backend::RopeParams rope_;
  std::vector<std::int32_t> positions_;
  Tensor out_;
};

backend::KvDType kv_dtype_of(DType dtype) {
  if (dtype == DType::kF16) return backend::KvDType::kF16;
  return dtype == DType::kBF16 ? backend::KvDType::kBF16 : backend::KvDType::kF32;
}

// Rotation, cache and attention: writes the contexts of all sequences into a paged cache, then
// attends their last tokens. The rotation case stops before the attention.
class Attention final : public PreparedOp {
 public:
  Attention(Backend& backend, const OpCase& c)
      : backend_(backend),
        case_(c),
        sequences_(c.op == OpKind::kAttention
                       ? c.sequences
                       : std::vector<SequenceLens>{{static_cast<std::int32_t>(c.num_tokens),
                                                    static_cast<std::int32_t>(c.num_tokens)}}),
        inv_freqs_(inverse_frequencies(c.rope_dim > 0 ? c.rope_dim : 2)),
        rope_{c.rope_style, c.rope_dim > 0 ? c.rope_dim : 2, inv_freqs_},
        shape_{c.num_heads, c.num_kv_heads, c.head_dim,
               1.0f / std::sqrt(static_cast<float>(c.head_dim)), c.window},
        contexts_(c.block_size),
        batch_(c.block_size) {
    std::int32_t num_blocks = 1;
    for (const SequenceLens& lens : sequences_) {
      num_blocks += (lens.context_len + c.block_size - 1) / c.block_size;
    }
    BlockDealer dealer(num_blocks, c.block_size, kSeed);
    for (const SequenceLens& lens : sequences_) {
      const std::vector<BlockId> blocks = dealer.take(lens.context_len);
      contexts_.add({lens.context_len, lens.context_len, blocks, {}});
      batch_.add({lens.context_len, lens.num_new, blocks, {}});
    }
    auto cache = backend.make_kv_cache(
        {2, c.num_kv_heads, c.head_dim, c.block_size, num_blocks, kv_dtype_of(c.kv_dtype)});
    TVLLM_CHECK(cache.has_value(), cache.error().message);
    cache_ = std::move(*cache);
    original_ = random_tensor(contexts_.num_tokens(),
                              std::int64_t{c.num_heads + 2 * c.num_kv_heads} * c.head_dim, kSeed);
    write_contexts();
  }

  void run() override {
    if (case_.op == OpKind::kRopeAndWriteKv) return write_contexts();
    backend_.attention(queries_.view(), shape_, batch_.view(), 0, *cache_, kLayer, out_.view());
  }

  std::vector<float> result() override {
    if (case_.op == OpKind::kAttention) return out_.data;
    std::vector<float> rotated;
    for (std::int64_t t = 0; t < queries_.num_rows; ++t) {
      rotated.insert(rotated.end(), queries_.row(t), queries_.row(t) + query_len());
    }
    return rotated;
  }

  std::vector<double> expected() override {
    std::vector<double> out;
    std::int64_t first = 0;  // of the sequence, among the tokens of all contexts
    for (const SequenceLens& lens : sequences_) {
      const std::vector<Keys> keys = keys_of(first, lens.context_len);
      for (std::int32_t i = lens.context_len - lens.num_new; i < lens.context_len; ++i) {
        for (std::int32_t h = 0; h < case_.num_heads; ++h) {
          std::vector<double> q = head(first + i, h, i);
          if (case_.op == OpKind::kAttention) {
            const Keys& of_head =
                keys[static_cast<std::size_t>(h / (case_.num_heads / case_.num_kv_heads))];
            const std::int32_t begin = case_.window > 0 ? std::max(0, i + 1 - case_.window) : 0;
            q = naive::attend(q, of_head.k, of_head.v, begin, i + 1,
                              static_cast<double>(shape_.scale));
          }
          out.insert(out.end(), q.begin(), q.end());
        }
      }
      first += lens.context_len;
    }
    return out;
  }

 private:
  static constexpr std::int32_t kLayer = 1;

  std::int64_t query_len() const { return std::int64_t{case_.num_heads} * case_.head_dim; }

  // Writes every context into the cache and keeps the rotated rows of the batch's tokens.
  void write_contexts() {
    Tensor rows = original_;
    Tensor cos_sin(rows.num_rows, rope_.rope_dim);
    const backend::PagedBatch& all = contexts_.view();
    backend_.rope_tables(rope_, all.positions, cos_sin.view());
    if (case_.rope_dim == 0) {  // the identity: cosines 1, sines 0
      for (std::int64_t t = 0; t < rows.num_rows; ++t) {
        cos_sin.row(t)[0] = 1.0f;
        cos_sin.row(t)[1] = 0.0f;
      }
    }
    backend_.rope_and_write_kv(rows.view(), shape_, rope_, cos_sin.view(), all.kv_groups[0],
                               *cache_, kLayer);
    queries_ = Tensor(batch_.num_tokens(), rows.num_cols);
    out_ = Tensor(batch_.num_tokens(), query_len());
    std::int64_t row = 0;
    std::int64_t first = 0;
    for (const SequenceLens& lens : sequences_) {
      for (std::int32_t i = lens.context_len - lens.num_new; i < lens.context_len; ++i, ++row) {
        std::memcpy(queries_.row(row), rows.row(first + i),
                    static_cast<std::size_t>(rows.num_cols) * sizeof(float));
      }
      first += lens.context_len;
    }
  }

  // Head `h` of a token, Q heads first, then K heads, then V heads, rotated unless it is a V head.
  std::vector<double> head(std::int64_t token, std::int32_t h, std::int32_t position) const {
    std::vector<double> values;
    for (std::int32_t d = 0; d < case_.head_dim; ++d) {
      values.push_back(original_.at(token, std::int64_t{h} * case_.head_dim + d));
    }
    if (case_.rope_dim > 0 && h < case_.num_heads + case_.num_kv_heads) {
      naive::rotate(values, inv_freqs_, case_.rope_style, position);
    }
    return values;
  }

  // K and V of one head over a context, [context_len, head_dim].
  struct Keys {
    naive::Matrix k;
    naive::Matrix v;
  };

  // Of every KV head, as the cache's type holds them.
  std::vector<Keys> keys_of(std::int64_t first, std::int32_t context_len) const {
    std::vector<Keys> keys;
    for (std::int32_t h = 0; h < case_.num_kv_heads; ++h) {
      Keys of_head{{context_len, case_.head_dim}, {context_len, case_.head_dim}};
      for (std::int32_t p = 0; p < context_len; ++p) {
        const std::vector<double> k = head(first + p, case_.num_heads + h, p);
        const std::vector<double> v = head(first + p, case_.num_heads + case_.num_kv_heads + h, p);
        for (std::int32_t d = 0; d < case_.head_dim; ++d) {
          of_head.k.at(p, d) = naive::round_to(case_.kv_dtype, k[static_cast<std::size_t>(d)]);
          of_head.v.at(p, d) = naive::round_to(case_.kv_dtype, v[static_cast<std::size_t>(d)]);
        }
      }
      keys.push_back(std::move(of_head));
    }
    return keys;
  }

  Backend& backend_;
  const OpCase case_;
  const std::vector<SequenceLens> sequences_;
  const std::vector<float> inv_freqs_;
  const backend::RopeParams rope_;
  const backend::AttentionShape shape_;
  RaggedBatch contexts_;  // every position of every sequence
  RaggedBatch batch_;     // the new ones
  std::unique_ptr<backend::KvCache> cache_;
  Tensor original_;  // Q, K and V of all contexts
  Tensor queries_;   // of the batch, rotated
  Tensor out_;
};

}  // namespace

std::unique_ptr<PreparedOp> prepare(Backend& backend, const OpCase& op_case) {
  switch (op_case.op) {
    case OpKind::kEmbed:
      return std::make_unique<Embed>(backend, op_case);
    case OpKind::kRmsNorm:
    case OpKind::kAddRmsNorm:
      return std::make_unique<Norm>(backend, op_case);
    case OpKind::kMatmul:
      return std::make_unique<Matmul>(backend, op_case);
    case OpKind::kRopeTables:
      return std::make_unique<RopeTables>(backend, op_case);
    case OpKind::kSiluAndMul:
    case OpKind::kGeluAndMul:
      return std::make_unique<Gate>(backend, op_case);
    case OpKind::kGatherRows:
      return std::make_unique<GatherRows>(backend, op_case);
    case OpKind::kRopeAndWriteKv:
    case OpKind::kAttention:
      break;
  }
  return std::make_unique<Attention>(backend, op_case);
}

}  // namespace tvllm::testing
