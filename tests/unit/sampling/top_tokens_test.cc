// SPDX-License-Identifier: Apache-2.0
#include "sampling/top_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

std::vector<TokenId> sorted_top(const std::vector<float>& row, std::size_t n) {
  SamplerScratch scratch(row.size());
  const std::span<RankedToken> top = select_top(row, n, scratch);
  std::sort(top.begin(), top.end(), ranks_before);
  std::vector<TokenId> ids;
  for (const RankedToken& token : top) {
    EXPECT_EQ(token.value, row[static_cast<std::size_t>(token.id)]);
    ids.push_back(token.id);
  }
  return ids;
}

void expect_first_of_full_sort(const std::vector<float>& row, std::size_t n) {
  std::vector<TokenId> expected = reference_order(row);
  expected.resize(n);
  ASSERT_EQ(sorted_top(row, n), expected) << "row of " << row.size() << ", top " << n;
}

TEST(TopTokensTest, SmallRowsAgreeWithAFullSortForEveryN) {
  for (std::size_t size = 1; size <= 80; size += 3) {
    for (std::size_t n = 0; n <= size; ++n) {
      expect_first_of_full_sort(random_row(size, 3.0f, 1), n);
      expect_first_of_full_sort(tied_row(size, 5, 2), n);
    }
  }
}

TEST(TopTokensTest, LargeRowsAgreeWithAFullSort) {
  for (const std::size_t n : {1u, 2u, 20u, 50u, 1535u, 1536u, 1537u, 20000u, 49151u, 49152u}) {
    expect_first_of_full_sort(random_row(49152, 2.0f, 3), n);
    expect_first_of_full_sort(tied_row(49152, 100, 4), n);
  }
}

TEST(TopTokensTest, EqualValuesAreTakenByAscendingId) {
  EXPECT_EQ(sorted_top(std::vector<float>(1000, 1.5f), 4), (std::vector<TokenId>{0, 1, 2, 3}));
}

TEST(TopTokensTest, MinusInfinityComesLast) {
  std::vector<float> row(200, kNegativeInfinity);
  row[150] = -1e30f;
  row[7] = 1.0f;
  EXPECT_EQ(sorted_top(row, 4), (std::vector<TokenId>{7, 150, 0, 1}));
}

TEST(TopTokensTest, AscendingAndDescendingRowsAreNoWorstCase) {
  std::vector<float> row(5000);
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = static_cast<float>(i);
  expect_first_of_full_sort(row, 100);
  std::reverse(row.begin(), row.end());
  expect_first_of_full_sort(row, 100);
}

}  // namespace
}  // namespace tvllm::sampling
