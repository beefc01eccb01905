// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/model_config.h"
#include "model/model.h"

namespace tvllm::model {

// Where a layer's K and V are: its KV group, and its number among the group's layers.
struct LayerPlace {
  std::int32_t group = 0;
  std::int32_t layer = 0;
};

struct LayerGroups {
  KvGroups kv;
  std::vector<LayerPlace> places;  // [num_layers]
};

// Global layers first, then local ones, in groups of as many layers as there are of the rarer kind;
// a last group may be short. So blocks of all groups have one size, and any may take any.
//
//   12 layers, every sixth global:   {5, 11}  {0, 1}  {2, 3}  {4, 6}  {7, 8}  {9, 10}
//
// Layers of one kind are one group. If all are local it keeps every position, and the window is a
// matter of attention alone: prefix caching needs a group that begins with position 0.
LayerGroups group_layers(const ModelConfig& config);

}  // namespace tvllm::model
