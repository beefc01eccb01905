// SPDX-License-Identifier: Apache-2.0
// The wall between models and hardware. A model is written once in these operations; a backend runs
// them on its own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "backend/paged_batch.h"
#include "base/result.h"
#include "core/model_config.h"
#include "tensor/tensor_view.h"

namespace tvllm::backend {

// Memory of a backend, freed with the object.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() = 0;
  virtual std::size_t size_bytes() const = 0;
};

// A weight matrix in the backend's own layout (repacked, on the device, or still in the mapped
// file). Several matrices of a file may be stacked in one, so that Q, K and V are one matmul.
class Matrix {
 public:
  virtual ~Matrix() = default;
  virtual std::int64_t num_rows() const = 0;  // outputs
  virtual std::int64_t num_cols() const = 0;  // inputs
  // Whether it reads the file's mapping after load, which must then stay in memory.
  virtual bool reads_file() const = 0;
};

enum class KvDType { kF32, kF16, kBF16 };

// One group of layers whose K and V share block tables.
struct KvCacheSpec {
  std::int32_t num_layers = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t block_size = 0;
  std::int32_t num_blocks = 0;  // with the null block
  KvDType dtype = KvDType::kF32;
};

// K and V of all blocks of a group, opaque: only the backend that made it knows the layout.
class KvCache {
 public:
  virtual ~KvCache() = default;
  virtual const KvCacheSpec& spec() const = 0;
};

// How positions become rotations: RoPE of one group of layers.
struct RopeParams {
  RopeStyle style = RopeStyle::kInterleaved;
  std::int32_t rope_dim = 0;         // leading elements of each head that rotate, even
  std::span<const float> inv_freqs;  // [rope_dim / 2], scaling applied; outlives the call
};

// Layout of a fused projection: [num_tokens, (num_heads + 2 * num_kv_heads) * head_dim], each row
// Q heads, then K heads, then V heads.
struct AttentionShape {
  std::int32_t num_heads = 0;
  std::int32_t num_kv_heads = 0;
  std::int32_t head_dim = 0;
  float scale = 0.0f;  // of Q K^T, usually 1 / sqrt(head_dim)
  // Positions that a token attends to at most, its own and those just before it; 0: all.
  std::int32_t window = 0;
};

// Operations run in the order of the calls; results are ready for the host after `synchronize`.
// Shapes are checked by the callee (TVLLM_DCHECK): a wrong one is our bug, files and requests were
// checked before. Called on the engine thread only. A call allocates nothing once the largest batch
// has been seen.
//
// Every operation gives each row of its result the same bits whatever the other rows are: fixed
// order of summation, no dependence on the number of rows, tokens, sequences or threads.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "cpu reference"

  // --- memory and weights, at load ---
  virtual std::unique_ptr<Buffer> allocate(std::size_t size_bytes) = 0;
  // Stacks `parts` (equal num_cols) along rows. The file's mapping outlives the matrix.
  virtual Result<std::unique_ptr<Matrix>> make_matrix(std::span<const WeightView> parts) = 0;
  // A vector of floats (norm weights, biases), converted to f32.
  virtual Result<std::unique_ptr<Buffer>> make_vector(const WeightView& weights) = 0;
  virtual std::size_t kv_bytes_per_block(const KvCacheSpec& spec) const = 0;
  virtual Result<std::unique_ptr<KvCache>> make_kv_cache(const KvCacheSpec& spec) = 0;

  // --- operations ---
  // out[t, :] = scale * table[ids[t], :]
  virtual void embed(const Matrix& table, std::span<const TokenId> ids, float scale,
                     TensorView out) = 0;

  // out[t, :] = x[t, :] / rms(x[t, :]) * weight
  virtual void rms_norm(TensorView x, const Buffer& weight, float eps, TensorView out) = 0;

  // rms_norm() in place of each run of weight's length on its own: the heads of Q, say.
  virtual void rms_norm_heads(TensorView x, const Buffer& weight, float eps) = 0;

  // residual += delta; out = rms_norm(residual)
  virtual void add_rms_norm(TensorView residual, TensorView delta, const Buffer& weight, float eps,
                            TensorView out) = 0;

  // out[t, r] = sum over c of weight[r, c] * x[t, c], plus bias[r] if there is one.
  virtual void matmul(const Matrix& weight, TensorView x, const Buffer* bias, TensorView out) = 0;

  // cos_sin[t, :] = cos of all rope_dim / 2 angles of positions[t], then their sines. Once a step;
  // all layers of the group use it.
  virtual void rope_tables(const RopeParams& rope, std::span<const std::int32_t> positions,
                           TensorView cos_sin) = 0;

  // Rotates Q in place and K on its way, and writes K and V of every token into its slot of
  // `layer`.
  virtual void rope_and_write_kv(TensorView qkv, const AttentionShape& shape,
                                 const RopeParams& rope, TensorView cos_sin,
                                 const PagedKvView& kv_view, KvCache& cache,
                                 std::int32_t layer) = 0;

  // Causal attention of the Q heads in `qkv` over the cache; out: [num_tokens, num_heads *
  // head_dim]. K and V are read from the cache alone, also those of this step; blocks that lie
  // before the window of a sequence's first token are not read.
  virtual void attention(TensorView qkv, const AttentionShape& shape, const PagedBatch& batch,
                         std::int32_t kv_group, const KvCache& cache, std::int32_t layer,
                         TensorView out) = 0;

  // gate_up: [T, 2 F], gate first; out[t, f] = silu(gate[t, f]) * up[t, f]
  virtual void silu_and_mul(TensorView gate_up, TensorView out) = 0;

  // The same with gelu in its tanh form, x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  virtual void gelu_and_mul(TensorView gate_up, TensorView out) = 0;

  // out[i, :] = x[rows[i], :]
  virtual void gather_rows(TensorView x, std::span<const std::int32_t> rows, TensorView out) = 0;

  virtual void synchronize() = 0;
};

}  // namespace tvllm::backend
