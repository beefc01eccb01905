// SPDX-License-Identifier: Apache-2.0
#include "model/layer_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace tvllm::model {
namespace {

using ::testing::ElementsAre;

ModelConfig config(std::int32_t num_layers, std::int32_t window, std::int32_t interval) {
  ModelConfig config;
  config.num_layers = num_layers;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.sliding_window = window;
  config.global_layer_interval = interval;
  return config;
}

TEST(LayerGroupsTest, GlobalLayersComeFirstAndLocalOnesInGroupsOfAsMany) {
  const LayerGroups groups = group_layers(config(12, 512, 6));
  EXPECT_EQ(groups.kv.num_layers, 2);
  EXPECT_THAT(groups.kv.windows, ElementsAre(0, 512, 512, 512, 512, 512));
  EXPECT_EQ(groups.places[5].group, 0);
  EXPECT_EQ(groups.places[11].group, 0);
  EXPECT_EQ(groups.places[11].layer, 1);
  EXPECT_EQ(groups.places[4].group, 3);
  EXPECT_EQ(groups.places[6].group, 3);
}

TEST(LayerGroupsTest, NoTwoLayersShareAPlaceAndKindsDoNotMix) {
  for (std::int32_t num_layers = 1; num_layers < 40; ++num_layers) {
    for (const std::int32_t interval : {1, 2, 3, 6, 50}) {
      const ModelConfig c = config(num_layers, 8, interval);
      const LayerGroups groups = group_layers(c);
      ASSERT_EQ(groups.kv.windows.front(), 0);
      std::set<std::pair<int, int>> places;
      bool all_local = true;
      for (std::int32_t i = 0; i < num_layers; ++i) {
        const LayerPlace& place = groups.places[static_cast<std::size_t>(i)];
        ASSERT_TRUE(places.emplace(place.group, place.layer).second);
        ASSERT_LT(place.layer, groups.kv.num_layers);
        ASSERT_LT(place.group, static_cast<std::int32_t>(groups.kv.windows.size()));
        all_local = all_local && c.is_local_layer(i);
      }
      for (std::int32_t i = 0; i < num_layers && !all_local; ++i) {
        const LayerPlace& place = groups.places[static_cast<std::size_t>(i)];
        ASSERT_EQ(groups.kv.windows[static_cast<std::size_t>(place.group)] > 0,
                  c.is_local_layer(i));
      }
    }
  }
}

TEST(LayerGroupsTest, LayersOfOneKindAreOneGroupThatKeepsAll) {
  for (const ModelConfig& c : {config(5, 0, 0), config(5, 8, 6), config(5, 8, 1)}) {
    const LayerGroups groups = group_layers(c);
    EXPECT_THAT(groups.kv.windows, ElementsAre(0));
    EXPECT_EQ(groups.kv.num_layers, 5);
    EXPECT_EQ(groups.places[4].layer, 4);
  }
}

}  // namespace
}  // namespace tvllm::model
