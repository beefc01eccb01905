// SPDX-License-Identifier: Apache-2.0
#include "loader/name_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tvllm::loader {
namespace {

TEST(NameIndexTest, FindsThePositionOfEachName) {
  NameIndex index;
  for (const std::string_view name : {"blk.1", "blk.0", "", "output"})
    index.add(name);
  EXPECT_FALSE(index.finish());
  EXPECT_EQ(index.find("blk.1"), 0u);
  EXPECT_EQ(index.find("blk.0"), 1u);
  EXPECT_EQ(index.find(""), 2u);
  EXPECT_EQ(index.find("output"), 3u);
  EXPECT_FALSE(index.find("blk"));
  EXPECT_FALSE(index.find("zzz"));
}

TEST(NameIndexTest, FindsNothingInNothing) {
  NameIndex index;
  EXPECT_FALSE(index.finish());
  EXPECT_FALSE(index.find("a"));
}

TEST(NameIndexTest, TellsThePositionsOfANameAddedTwice) {
  NameIndex index;
  for (const std::string_view name : {"b", "a", "c", "a"})
    index.add(name);
  EXPECT_EQ(index.finish(), (std::pair<std::uint32_t, std::uint32_t>{1, 3}));
}

}  // namespace
}  // namespace tvllm::loader
