// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/attention.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tvllm::cpu {

namespace {

// Tokens of a tile: enough to use each K and V read many times, few enough that a chunk of a prompt
// makes work for all workers.
constexpr std::int32_t kTileLen = 16;

// Tasks of very different cost balance once there are this many for each worker.
constexpr std::int64_t kTasksPerWorker = 4;

// Results of splits that are held until they are merged, at most.
constexpr std::size_t kMaxPartialBytes = std::size_t{4} << 20;

constexpr std::int32_t kHeader = 2;  // of a partial row: the largest score, the sum of weights

std::size_t to_cache_line(std::size_t size_bytes) {
  return (size_bytes + 63) / 64 * 64;
}

// Two partial rows over different positions become one over both.
void merge_row(float* into, const float* from, std::int32_t head_dim) {
  const float largest = std::max(into[0], from[0]);
  const float into_weight = std::exp(into[0] - largest);
  const float from_weight = std::exp(from[0] - largest);
  into[0] = largest;
  for (std::int32_t i = 1; i < kHeader + head_dim; ++i) {
    into[i] = into[i] * into_weight + from[i] * from_weight;
  }
}

}  // namespace

struct AttentionRunner::Call {
  ConstFloatMatrix qkv;
  FloatMatrix out;
  const KvLayer& layer;
  std::int32_t num_kv_heads;
  std::int32_t heads_per_kv;
  std::int32_t head_dim;
  float scale;
  std::int32_t window;

  std::int64_t partial_len() const { return kHeader + head_dim; }
  std::size_t tile_partial_bytes() const {
    return to_cache_line(static_cast<std::size_t>(kTileLen * heads_per_kv * partial_len()) *
                         sizeof(float));
  }

  // The first position that the token at `position` sees; negative when that is 0. Without a window
  // it is so for a whole tile that counts on from it.
  std::int32_t window_begin(std::int32_t position) const {
    return window == 0 ? -kTileLen : position + 1 - window;
  }
  std::int32_t first_split_of(std::int32_t position) const {
    return std::max(window_begin(position), 0) / kSplitLen;
  }

  // Rows of a tile that see something of `split` join those of the splits before it, whichever of
  // them the tile has: a row that sees nothing of a split has nothing there.
  void merge(const Tile& tile, std::int32_t split, float* into, const float* from) const {
    const std::int32_t first_seeing = split * kSplitLen - tile.first_position;
    for (std::int32_t t = std::max(0, first_seeing); t < tile.num_tokens; ++t) {
      const std::int32_t first_split = first_split_of(tile.first_position + t);
      if (split < first_split) break;  // left behind by the later tokens too
      for (std::int32_t h = 0; h < heads_per_kv; ++h) {
        const std::int64_t row = std::int64_t{t} * heads_per_kv + h;
        float* to = into + row * partial_len();
        const float* read = from + row * partial_len();
        if (split == first_split) {
          std::copy_n(read, partial_len(), to);
        } else {
          merge_row(to, read, head_dim);
        }
      }
    }
  }

  void finish(const Tile& tile, std::int32_t kv_head, const float* merged) const {
    for (std::int32_t t = 0; t < tile.num_tokens; ++t) {
      float* to = out.row(tile.first_token + t) + std::int64_t{kv_head} * heads_per_kv * head_dim;
      for (std::int32_t h = 0; h < heads_per_kv; ++h, to += head_dim, merged += partial_len()) {
        for (std::int32_t d = 0; d < head_dim; ++d) {
          to[d] = merged[kHeader + d] / merged[1];
        }
      }
    }
  }
};

void AttentionRunner::run(ConstFloatMatrix qkv, const backend::AttentionShape& shape,
                          const backend::PagedBatch& batch, const backend::PagedKvView& view,
                          const KvLayer& layer, FloatMatrix out) {
  const Call call{qkv,
                  out,
                  layer,
                  shape.num_kv_heads,
                  shape.num_heads / shape.num_kv_heads,
                  shape.head_dim,
                  shape.scale,
                  shape.window};
  list_tiles(call, batch, view);
  if (tiles_.empty()) return;
  const std::size_t kernel_bytes = to_cache_line(kernels_.attention_scratch_bytes(
      std::int64_t{kTileLen} * call.heads_per_kv, call.head_dim, layer.block_size));
  worker_scratch_.reserve(pool_.num_threads(), kernel_bytes + 2 * call.tile_partial_bytes());

  const auto num_tiles = static_cast<std::int64_t>(tiles_.size());
  const std::size_t partial_bytes =
      static_cast<std::size_t>(num_splits_ * call.num_kv_heads) * call.tile_partial_bytes();
  const bool few_tasks = num_tiles * call.num_kv_heads < kTasksPerWorker * pool_.num_threads();
  if (pool_.num_threads() > 1 && few_tasks && num_splits_ > num_tiles &&
      partial_bytes <= kMaxPartialBytes) {
    partials_.reserve(1, partial_bytes);
    attend_splits(call);
  } else {
    attend_tasks(call);
  }
}

void AttentionRunner::list_tiles(const Call& call, const backend::PagedBatch& batch,
                                 const backend::PagedKvView& view) {
  tiles_.clear();
  num_splits_ = 0;
  for (std::size_t s = 0; s < batch.context_lens.size(); ++s) {
    const std::int32_t end = batch.query_offsets[s + 1];
    std::int32_t token = batch.query_offsets[s];
    std::int32_t position = batch.context_lens[s] - (end - token);
    TVLLM_DCHECK(position >= 0, "sequence ", s, " has more tokens than its context");
    const BlockId* table = view.blocks.data() + view.block_offsets[s];
    while (token < end) {
      const std::int32_t num_tokens = std::min(kTileLen, end - token);
      const std::int32_t split_begin = call.first_split_of(position);
      const std::int32_t split_end = (position + num_tokens - 1) / kSplitLen + 1;
      tiles_.push_back({token, num_tokens, position, split_begin, split_end, num_splits_, table});
      num_splits_ += split_end - split_begin;
      token += num_tokens;
      position += num_tokens;
    }
  }
}

void AttentionRunner::attend_split(const Call& call, const Tile& tile, std::int32_t kv_head,
                                   std::int32_t split, float* partials, std::byte* scratch) const {
  const KvLayer& layer = call.layer;
  const std::int32_t first_position = split * kSplitLen;
  const std::int32_t context_len = tile.first_position + tile.num_tokens;
  const std::int32_t num_positions = std::min(kSplitLen, context_len - first_position);
  const std::byte* k_blocks[kSplitLen];  // blocks before the window too, which nobody reads
  for (std::int32_t p = 0; p < num_positions; p += layer.block_size) {
    const BlockId block = tile.table[(first_position + p) / layer.block_size];
    k_blocks[p / layer.block_size] =
        layer.base + block.value() * layer.block_bytes + kv_head * layer.head_bytes;
  }
  AttentionSplit args;
  args.q =
      call.qkv.row(tile.first_token) + std::int64_t{kv_head} * call.heads_per_kv * call.head_dim;
  args.q_stride = call.qkv.row_stride;
  args.num_tokens = tile.num_tokens;
  args.num_heads = call.heads_per_kv;
  args.head_dim = call.head_dim;
  args.scale = call.scale;
  args.k_blocks = k_blocks;
  args.v_offset = layer.v_offset;
  args.block_size = layer.block_size;
  args.dtype = layer.dtype;
  args.first_visible = call.window_begin(tile.first_position) - first_position;
  args.num_visible = tile.first_position + 1 - first_position;
  args.num_positions = num_positions;
  args.partials = partials;
  kernels_.attend_split(args, scratch);
}

void AttentionRunner::attend_tasks(const Call& call) {
  const std::int64_t num_tasks = static_cast<std::int64_t>(tiles_.size()) * call.num_kv_heads;
  next_task_.store(num_tasks, std::memory_order_relaxed);
  pool_.run([&](int worker_idx) {
    std::byte* slice = worker_scratch_.slice(worker_idx);
    float* merged = reinterpret_cast<float*>(slice);
    float* partials = reinterpret_cast<float*>(slice + call.tile_partial_bytes());
    std::byte* scratch = slice + 2 * call.tile_partial_bytes();
    // From the last task, since the last tiles of a prompt see the most.
    while (true) {
      const std::int64_t task = next_task_.fetch_sub(1, std::memory_order_relaxed) - 1;
      if (task < 0) break;
      const Tile& tile = tiles_[static_cast<std::size_t>(task / call.num_kv_heads)];
      const auto kv_head = static_cast<std::int32_t>(task % call.num_kv_heads);
      attend_split(call, tile, kv_head, tile.split_begin, merged, scratch);
      for (std::int32_t split = tile.split_begin + 1; split < tile.split_end; ++split) {
        attend_split(call, tile, kv_head, split, partials, scratch);
        call.merge(tile, split, merged, partials);
      }
      call.finish(tile, kv_head, merged);
    }
  });
}

void AttentionRunner::attend_splits(const Call& call) {
  const auto partials_of = [&](const Tile& tile, std::int32_t kv_head, std::int32_t split) {
    const std::int64_t idx =
        (tile.first_split + split - tile.split_begin) * call.num_kv_heads + kv_head;
    return reinterpret_cast<float*>(partials_.slice(0) +
                                    static_cast<std::size_t>(idx) * call.tile_partial_bytes());
  };
  const std::int64_t num_tasks = num_splits_ * call.num_kv_heads;
  next_task_.store(num_tasks, std::memory_order_relaxed);
  pool_.run([&](int worker_idx) {
    std::byte* scratch = worker_scratch_.slice(worker_idx);
    while (true) {
      const std::int64_t task = next_task_.fetch_sub(1, std::memory_order_relaxed) - 1;
      if (task < 0) break;
      const std::int64_t split_idx = task / call.num_kv_heads;
      const auto after = std::upper_bound(
          tiles_.begin(), tiles_.end(), split_idx,
          [](std::int64_t idx, const Tile& tile) { return idx < tile.first_split; });
      const Tile& tile = *(after - 1);
      const auto split = tile.split_begin + static_cast<std::int32_t>(split_idx - tile.first_split);
      const auto kv_head = static_cast<std::int32_t>(task % call.num_kv_heads);
      attend_split(call, tile, kv_head, split, partials_of(tile, kv_head, split), scratch);
    }
  });
  pool_.parallel_for(tiles_.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Tile& tile = tiles_[i];
      for (std::int32_t kv_head = 0; kv_head < call.num_kv_heads; ++kv_head) {
        float* merged = partials_of(tile, kv_head, tile.split_begin);
        for (std::int32_t split = tile.split_begin + 1; split < tile.split_end; ++split) {
          call.merge(tile, split, merged, partials_of(tile, kv_head, split));
        }
        call.finish(tile, kv_head, merged);
      }
    }
  });
}

}  // namespace tvllm::cpu
