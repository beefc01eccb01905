// SPDX-License-Identifier: Apache-2.0
#include "model/layer_groups.h"

#include <algorithm>
#include <cstddef>

namespace tvllm::model {

namespace {

// Appends groups of `group_len` layers.
void add_groups(const std::vector<std::int32_t>& layers, std::int32_t group_len,
                std::int32_t window, LayerGroups& groups) {
  std::int32_t num_placed = 0;
  for (const std::int32_t layer : layers) {
    if (num_placed % group_len == 0) groups.kv.windows.push_back(window);
    groups.places[static_cast<std::size_t>(layer)] = {
        static_cast<std::int32_t>(groups.kv.windows.size()) - 1, num_placed % group_len};
    ++num_placed;
  }
}

}  // namespace

LayerGroups group_layers(const ModelConfig& config) {
  std::vector<std::int32_t> global;
  std::vector<std::int32_t> local;
  for (std::int32_t layer = 0; layer < config.num_layers; ++layer) {
    (config.is_local_layer(layer) ? local : global).push_back(layer);
  }
  const bool is_mixed = !global.empty() && !local.empty();
  const auto group_len = is_mixed ? static_cast<std::int32_t>(std::min(global.size(), local.size()))
                                  : config.num_layers;
  LayerGroups groups;
  groups.kv = {.num_layers = group_len,
               .num_kv_heads = config.num_kv_heads,
               .head_dim = config.head_dim,
               .windows = {}};
  groups.places.resize(static_cast<std::size_t>(config.num_layers));
  add_groups(global, group_len, 0, groups);
  add_groups(local, group_len, is_mixed ? config.sliding_window : 0, groups);
  return groups;
}

}  // namespace tvllm::model
