// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/paged_cache.h"

#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tvllm::cpu {

namespace {

using backend::KvCacheSpec;
using backend::KvDType;

DType element_type(KvDType dtype) {
  switch (dtype) {
    case KvDType::kF16:
      return DType::kF16;
    case KvDType::kBF16:
      return DType::kBF16;
    case KvDType::kF32:
      break;
  }
  return DType::kF32;
}

std::int64_t element_bytes(KvDType dtype) {
  return dtype == KvDType::kF32 ? 4 : 2;
}

Status check_spec(const KvCacheSpec& spec) {
  const std::pair<std::string_view, std::int32_t> counts[] = {
      {"num_layers", spec.num_layers}, {"num_kv_heads", spec.num_kv_heads},
      {"head_dim", spec.head_dim},     {"num_blocks", spec.num_blocks},
      {"block_size", spec.block_size},
  };
  for (const auto& [name, value] : counts) {
    if (value <= 0) {
      return invalid_argument(str_cat("kv cache: ", name, " is ", value, ", expected at least 1"));
    }
  }
  const bool power_of_two = (spec.block_size & (spec.block_size - 1)) == 0;
  if (!power_of_two || spec.block_size > kSplitLen) {
    return invalid_argument(str_cat("kv cache: block_size is ", spec.block_size,
                                    ", expected a power of two up to ", kSplitLen));
  }
  return {};
}

// Nothing when it is no number of bytes.
std::optional<std::size_t> total_bytes(const KvCacheSpec& spec) {
  std::size_t total = static_cast<std::size_t>(2 * element_bytes(spec.dtype));
  for (const std::int32_t factor :
       {spec.num_layers, spec.num_kv_heads, spec.head_dim, spec.block_size, spec.num_blocks}) {
    if (__builtin_mul_overflow(total, static_cast<std::size_t>(factor), &total)) return {};
  }
  return total <= PTRDIFF_MAX ? std::optional(total) : std::nullopt;
}

}  // namespace

std::size_t PagedCache::bytes_per_block(const KvCacheSpec& spec) {
  return static_cast<std::size_t>(2 * element_bytes(spec.dtype)) *
         static_cast<std::size_t>(spec.num_layers) * static_cast<std::size_t>(spec.num_kv_heads) *
         static_cast<std::size_t>(spec.head_dim) * static_cast<std::size_t>(spec.block_size);
}

Result<std::unique_ptr<backend::KvCache>> PagedCache::make(const KvCacheSpec& spec) {
  TVLLM_RETURN_IF_ERROR(check_spec(spec));
  const std::optional<std::size_t> size = total_bytes(spec);
  std::optional<HostMemory> memory = size ? HostMemory::allocate(*size) : std::nullopt;
  if (!memory.has_value()) {
    return make_error(ErrorCode::kResourceExhausted,
                      str_cat("kv cache: no memory for ", spec.num_blocks, " blocks of ",
                              human_bytes(bytes_per_block(spec))));
  }
  return std::unique_ptr<backend::KvCache>(new PagedCache(spec, std::move(*memory)));
}

KvLayer PagedCache::layer(std::int32_t idx) const {
  TVLLM_DCHECK(idx >= 0 && idx < spec_.num_layers, "layer ", idx);
  KvLayer layer;
  layer.v_offset = element_bytes(spec_.dtype) * spec_.block_size * spec_.head_dim;
  layer.head_bytes = 2 * layer.v_offset;
  layer.block_bytes = spec_.num_kv_heads * layer.head_bytes;
  layer.base = memory_.data() + std::int64_t{idx} * spec_.num_blocks * layer.block_bytes;
  layer.block_size = spec_.block_size;
  layer.head_dim = spec_.head_dim;
  layer.dtype = element_type(spec_.dtype);
  return layer;
}

}  // namespace tvllm::cpu
