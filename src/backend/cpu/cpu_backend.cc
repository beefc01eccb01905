// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.h"

#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "backend/cpu/attention.h"
#include "backend/cpu/host_memory.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/paged_cache.h"
#include "backend/cpu/weight_matrix.h"
#include "base/check.h"
#include "base/strings.h"
#include "tensor/quant_blocks.h"

namespace tvllm::cpu {

namespace {

using backend::AttentionShape;
using backend::Buffer;
using backend::KvCache;
using backend::KvCacheSpec;
using backend::Matrix;
using backend::PagedBatch;
using backend::PagedKvView;
using backend::RopeParams;

// Operations on rows run on the calling thread when they touch fewer elements than this: a region
// of the pool costs some microseconds.
constexpr std::int64_t kLeastParallelElements = 16384;

FloatMatrix as_floats(const TensorView& view, std::int64_t num_rows, std::int64_t num_cols) {
  TVLLM_DCHECK(view.dtype == DType::kF32, dtype_info(view.dtype).name);
  TVLLM_DCHECK(view.num_rows == num_rows && view.num_cols == num_cols, view.num_rows, " x ",
               view.num_cols, ", expected ", num_rows, " x ", num_cols);
  return view.as_float();
}

FloatMatrix as_floats(const TensorView& view) {
  return as_floats(view, view.num_rows, view.num_cols);
}

const float* as_vector(const Buffer& buffer, std::int64_t num_elements) {
  TVLLM_DCHECK(buffer.size_bytes() == static_cast<std::size_t>(num_elements) * sizeof(float),
               buffer.size_bytes(), " bytes, expected ", num_elements, " floats");
  return static_cast<const HostBuffer&>(buffer).floats();
}

class CpuBackend final : public backend::Backend {
 public:
  CpuBackend(CpuIsa isa, ThreadPool& pool)
      : name_(str_cat("cpu ", cpu_isa_name(isa))),
        kernels_(kernel_table_of(isa)),
        pool_(pool),
        matmul_(kernels_, pool),
        attention_(kernels_, pool) {}

  std::string_view name() const override { return name_; }

  std::unique_ptr<Buffer> allocate(std::size_t size_bytes) override {
    std::optional<HostMemory> memory = HostMemory::allocate(size_bytes);
    if (!memory.has_value()) throw std::bad_alloc();
    return std::make_unique<HostBuffer>(std::move(*memory), size_bytes);
  }

  Result<std::unique_ptr<Matrix>> make_matrix(std::span<const WeightView> parts) override {
    return WeightMatrix::make(kernels_, pool_, parts);
  }

  Result<std::unique_ptr<Buffer>> make_vector(const WeightView& weights) override;

  std::size_t kv_bytes_per_block(const KvCacheSpec& spec) const override {
    return PagedCache::bytes_per_block(spec);
  }

  Result<std::unique_ptr<KvCache>> make_kv_cache(const KvCacheSpec& spec) override {
    return PagedCache::make(spec);
  }

  void embed(const Matrix& table, std::span<const TokenId> ids, float scale,
             TensorView out) override;
  void rms_norm(TensorView x, const Buffer& weight, float eps, TensorView out) override;
  void rms_norm_heads(TensorView x, const Buffer& weight, float eps) override;
  void add_rms_norm(TensorView residual, TensorView delta, const Buffer& weight, float eps,
                    TensorView out) override;
  void matmul(const Matrix& weight, TensorView x, const Buffer* bias, TensorView out) override;
  void rope_tables(const RopeParams& rope, std::span<const std::int32_t> positions,
                   TensorView cos_sin) override;
  void rope_and_write_kv(TensorView qkv, const AttentionShape& shape, const RopeParams& rope,
                         TensorView cos_sin, const PagedKvView& kv_view, KvCache& cache,
                         std::int32_t layer) override;
  void attention(TensorView qkv, const AttentionShape& shape, const PagedBatch& batch,
                 std::int32_t kv_group, const KvCache& cache, std::int32_t layer,
                 TensorView out) override;
  void silu_and_mul(TensorView gate_up, TensorView out) override {
    gate_rows(kernels_.silu_and_mul, gate_up, out);
  }
  void gelu_and_mul(TensorView gate_up, TensorView out) override {
    gate_rows(kernels_.gelu_and_mul, gate_up, out);
  }
  void gather_rows(TensorView x, std::span<const std::int32_t> rows, TensorView out) override;
  void synchronize() override {}

 private:
  // body(row_begin, row_end) over pieces of [0, num_rows).
  template <typename Body>
  void for_rows(std::int64_t num_rows, std::int64_t elements_per_row, Body&& body);
  void norm_rows(const NormArgs& args, std::int64_t num_rows);
  void gate_rows(decltype(KernelTable::silu_and_mul) kernel, TensorView gate_up, TensorView out);

  const std::string name_;
  const KernelTable& kernels_;
  ThreadPool& pool_;  // outlives the backend
  MatmulRunner matmul_;
  AttentionRunner attention_;
};

template <typename Body>
void CpuBackend::for_rows(std::int64_t num_rows, std::int64_t elements_per_row, Body&& body) {
  if (num_rows <= 0) return;
  if (num_rows * elements_per_row < kLeastParallelElements) return body(0, num_rows);
  pool_.parallel_for(static_cast<std::size_t>(num_rows), 1,
                     [&](std::size_t begin, std::size_t end) {
                       body(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
                     });
}

Result<std::unique_ptr<Buffer>> CpuBackend::make_vector(const WeightView& weights) {
  const DTypeInfo& info = dtype_info(weights.dtype);
  if (weights.num_rows <= 0 || weights.num_cols <= 0 || weights.data == nullptr ||
      weights.num_cols % info.block_len != 0) {
    return invalid_argument(str_cat("cpu vector: ", weights.num_rows, " x ", weights.num_cols, " ",
                                    info.name, " is empty or no whole number of blocks"));
  }
  const auto row_len = static_cast<std::size_t>(weights.num_cols);
  const std::size_t size_bytes =
      row_len * static_cast<std::size_t>(weights.num_rows) * sizeof(float);
  std::optional<HostMemory> memory = HostMemory::allocate(size_bytes);
  if (!memory.has_value()) {
    return make_error(ErrorCode::kResourceExhausted,
                      str_cat("cpu vector: no memory for ", human_bytes(size_bytes)));
  }
  float* out = reinterpret_cast<float*>(memory->data());
  for (std::int64_t r = 0; r < weights.num_rows; ++r, out += row_len) {
    dequantize_row(weights.dtype, weights.row(r), {out, row_len});
  }
  return std::unique_ptr<Buffer>(std::make_unique<HostBuffer>(std::move(*memory), size_bytes));
}

void CpuBackend::embed(const Matrix& table, std::span<const TokenId> ids, float scale,
                       TensorView out) {
  const auto& rows = static_cast<const WeightMatrix&>(table);
  const auto num_tokens = static_cast<std::int64_t>(ids.size());
  const FloatMatrix to = as_floats(out, num_tokens, table.num_cols());
  for_rows(num_tokens, to.num_cols, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      rows.load_row(kernels_, ids[static_cast<std::size_t>(t)], to.row(t));
      if (scale == 1.0f) continue;
      for (std::int64_t c = 0; c < to.num_cols; ++c) {
        to.row(t)[c] *= scale;
      }
    }
  });
}

void CpuBackend::norm_rows(const NormArgs& args, std::int64_t num_rows) {
  for_rows(num_rows, args.num_cols,
           [&](std::int64_t begin, std::int64_t end) { kernels_.rms_norm(args, begin, end); });
}

void CpuBackend::rms_norm(TensorView x, const Buffer& weight, float eps, TensorView out) {
  const FloatMatrix from = as_floats(x);
  const FloatMatrix to = as_floats(out, x.num_rows, x.num_cols);
  NormArgs args;
  args.x = from.data;
  args.x_stride = from.row_stride;
  args.weight = as_vector(weight, x.num_cols);
  args.num_cols = x.num_cols;
  args.eps = eps;
  args.out = to.data;
  args.out_stride = to.row_stride;
  norm_rows(args, x.num_rows);
}

void CpuBackend::rms_norm_heads(TensorView x, const Buffer& weight, float eps) {
  const FloatMatrix heads = as_floats(x);
  const auto head_dim = static_cast<std::int64_t>(weight.size_bytes() / sizeof(float));
  TVLLM_DCHECK(head_dim > 0 && x.num_cols % head_dim == 0, x.num_cols, " columns, heads of ",
               head_dim);
  NormArgs args;
  args.x_stride = heads.row_stride;
  args.weight = as_vector(weight, head_dim);
  args.num_cols = head_dim;
  args.eps = eps;
  args.out_stride = heads.row_stride;
  for_rows(x.num_rows, x.num_cols, [&](std::int64_t begin, std::int64_t end) {
    NormArgs of_head = args;
    for (std::int64_t first = 0; first < x.num_cols; first += head_dim) {
      of_head.x = of_head.out = heads.data + first;
      kernels_.rms_norm(of_head, begin, end);
    }
  });
}

void CpuBackend::add_rms_norm(TensorView residual, TensorView delta, const Buffer& weight,
                              float eps, TensorView out) {
  const FloatMatrix sum = as_floats(residual);
  const FloatMatrix added = as_floats(delta, residual.num_rows, residual.num_cols);
  const FloatMatrix to = as_floats(out, residual.num_rows, residual.num_cols);
  NormArgs args;
  args.x = sum.data;
  args.x_stride = sum.row_stride;
  args.delta = added.data;
  args.delta_stride = added.row_stride;
  args.weight = as_vector(weight, residual.num_cols);
  args.num_cols = residual.num_cols;
  args.eps = eps;
  args.out = to.data;
  args.out_stride = to.row_stride;
  norm_rows(args, residual.num_rows);
}

void CpuBackend::matmul(const Matrix& weight, TensorView x, const Buffer* bias, TensorView out) {
  const FloatMatrix from = as_floats(x, x.num_rows, weight.num_cols());
  const FloatMatrix to = as_floats(out, x.num_rows, weight.num_rows());
  const float* offsets = bias == nullptr ? nullptr : as_vector(*bias, weight.num_rows());
  matmul_.run(static_cast<const WeightMatrix&>(weight), from, offsets, to);
}

void CpuBackend::rope_tables(const RopeParams& rope, std::span<const std::int32_t> positions,
                             TensorView cos_sin) {
  const auto num_tokens = static_cast<std::int64_t>(positions.size());
  const FloatMatrix table = as_floats(cos_sin, num_tokens, rope.rope_dim);
  const auto num_pairs = static_cast<std::size_t>(rope.rope_dim / 2);
  TVLLM_DCHECK(rope.inv_freqs.size() == num_pairs, rope.inv_freqs.size(), " frequencies");
  for_rows(num_tokens, 16 * rope.rope_dim, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const float position = static_cast<float>(positions[static_cast<std::size_t>(t)]);
      float* cos = table.row(t);
      float* sin = cos + num_pairs;
      for (std::size_t i = 0; i < num_pairs; ++i) {
        // The angle is a product of floats, as transformers computes it, and its rounding matters:
        // at position 8,191 it moves the rotation by up to 2^-12.
        const float angle = position * rope.inv_freqs[i];
        cos[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
        sin[i] = static_cast<float>(std::sin(static_cast<double>(angle)));
      }
    }
  });
}

void CpuBackend::rope_and_write_kv(TensorView qkv, const AttentionShape& shape,
                                   const RopeParams& rope, TensorView cos_sin,
                                   const PagedKvView& kv_view, KvCache& cache, std::int32_t layer) {
  const std::int64_t row_len =
      std::int64_t{shape.num_heads + 2 * shape.num_kv_heads} * shape.head_dim;
  const FloatMatrix rows = as_floats(qkv, qkv.num_rows, row_len);
  const FloatMatrix table = as_floats(cos_sin, qkv.num_rows, rope.rope_dim);
  TVLLM_DCHECK(static_cast<std::int64_t>(kv_view.slots.size()) == qkv.num_rows,
               kv_view.slots.size(), " slots for ", qkv.num_rows, " tokens");
  TVLLM_DCHECK(cache.spec().num_kv_heads == shape.num_kv_heads &&
                   cache.spec().head_dim == shape.head_dim && rope.rope_dim <= shape.head_dim,
               "cache of ", cache.spec().num_kv_heads, " x ", cache.spec().head_dim);
  RopeStoreArgs args;
  args.qkv = rows.data;
  args.qkv_stride = rows.row_stride;
  args.num_heads = shape.num_heads;
  args.num_kv_heads = shape.num_kv_heads;
  args.rope_dim = rope.rope_dim;
  args.pairs_halves = rope.style == RopeStyle::kHalves;
  args.cos_sin = table.data;
  args.cos_sin_stride = table.row_stride;
  args.slots = kv_view.slots.data();
  args.kv = static_cast<PagedCache&>(cache).layer(layer);
  for_rows(qkv.num_rows, row_len, [&](std::int64_t begin, std::int64_t end) {
    kernels_.rope_and_store(args, begin, end);
  });
}

void CpuBackend::attention(TensorView qkv, const AttentionShape& shape, const PagedBatch& batch,
                           std::int32_t kv_group, const KvCache& cache, std::int32_t layer,
                           TensorView out) {
  const std::int64_t query_len = std::int64_t{shape.num_heads} * shape.head_dim;
  TVLLM_DCHECK(qkv.num_cols >= query_len && qkv.num_rows == batch.num_tokens(), qkv.num_rows, " x ",
               qkv.num_cols);
  TVLLM_DCHECK(shape.num_heads % shape.num_kv_heads == 0, shape.num_heads, " query heads");
  const PagedKvView& view = batch.kv_groups[static_cast<std::size_t>(kv_group)];
  TVLLM_DCHECK(view.block_size == cache.spec().block_size, "blocks of ", view.block_size);
  attention_.run(as_floats(qkv), shape, batch, view,
                 static_cast<const PagedCache&>(cache).layer(layer),
                 as_floats(out, qkv.num_rows, query_len));
}

void CpuBackend::gate_rows(decltype(KernelTable::silu_and_mul) kernel, TensorView gate_up,
                           TensorView out) {
  const FloatMatrix from = as_floats(gate_up, out.num_rows, 2 * out.num_cols);
  const FloatMatrix to = as_floats(out);
  GatedArgs args;
  args.gate_up = from.data;
  args.gate_up_stride = from.row_stride;
  args.num_cols = to.num_cols;
  args.out = to.data;
  args.out_stride = to.row_stride;
  for_rows(to.num_rows, to.num_cols,
           [&](std::int64_t begin, std::int64_t end) { kernel(args, begin, end); });
}

void CpuBackend::gather_rows(TensorView x, std::span<const std::int32_t> rows, TensorView out) {
  const FloatMatrix from = as_floats(x);
  const FloatMatrix to = as_floats(out, static_cast<std::int64_t>(rows.size()), x.num_cols);
  for (std::int64_t i = 0; i < to.num_rows; ++i) {
    const std::int32_t row = rows[static_cast<std::size_t>(i)];
    TVLLM_DCHECK(row >= 0 && row < from.num_rows, "row ", row, " of ", from.num_rows);
    std::memcpy(to.row(i), from.row(row), static_cast<std::size_t>(to.num_cols) * sizeof(float));
  }
}

}  // namespace

Result<std::unique_ptr<backend::Backend>> make_cpu_backend(const CpuBackendOptions& options,
                                                           ThreadPool& pool) {
  TVLLM_TRY(const CpuIsa isa, resolve_cpu_isa(options.isa));
  return std::unique_ptr<backend::Backend>(std::make_unique<CpuBackend>(isa, pool));
}

}  // namespace tvllm::cpu
