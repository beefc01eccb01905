// SPDX-License-Identifier: Apache-2.0
#include "sampling/truncation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/unit/sampling/reference.h"

namespace tvllm::sampling {
namespace {

std::vector<TokenId> kept_ids(const std::vector<float>& row, const SamplingParams& params) {
  SamplerScratch scratch(row.size());
  const Candidates candidates = truncate(row, scan_row(row), params, scratch);
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < candidates.weights.size(); ++i) {
    EXPECT_GE(candidates.weights[i], 0.0f);
    EXPECT_LE(candidates.weights[i], 1.0f);
    if (candidates.weights[i] > 0) ids.push_back(candidates.id_at(i));
  }
  return ids;
}

std::string describe(const SamplingParams& p) {
  return str_cat("temperature ", p.temperature, " top_p ", p.top_p, " top_k ", p.top_k, " min_p ",
                 p.min_p);
}

TEST(TruncationTest, SetsEqualThoseOfAFullSortInDoublePrecision) {
  int num_compared = 0;
  int num_undecided = 0;
  for (const std::size_t size : {1u, 2u, 33u, 1000u, 5000u}) {
    for (std::uint32_t seed = 0; seed < 4; ++seed) {
      const std::vector<float> row = random_row(size, 0.5f + static_cast<float>(seed), seed);
      for (const float temperature : {0.2f, 1.0f, 2.0f}) {
        for (const float top_p : {1e-6f, 0.1f, 0.5f, 0.9f, 0.95f, 0.999f, 1.0f}) {
          for (const int top_k : {0, 1, 5, 50, 400}) {
            for (const float min_p : {0.0f, 0.05f, 0.5f, 1.0f}) {
              SamplingParams params;
              params.temperature = temperature;
              params.top_p = top_p;
              params.top_k = top_k < static_cast<int>(size) ? top_k : 0;
              params.min_p = min_p;
              const ReferenceSet expected = reference_set(row, params);
              if (expected.margin < 1e-6) {
                // The best token alone has exactly the share 1 that min_p = 1 asks for.
                if (min_p < 1.0f) ++num_undecided;
                if (min_p < 1.0f) continue;
              }
              ++num_compared;
              ASSERT_EQ(kept_ids(row, params), expected.ids)
                  << describe(params) << " size " << size << " seed " << seed;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(num_compared, 8000);
  EXPECT_LT(num_undecided, num_compared / 20);
}

TEST(TruncationTest, TopPOfALargeVocabularyEqualsAFullSortBeItPeakedOrFlat) {
  for (const float sigma : {0.3f, 1.0f, 3.0f, 6.0f}) {
    const std::vector<float> row = random_row(49152, sigma, 77);
    for (const float top_p : {0.01f, 0.5f, 0.95f, 0.9999f}) {
      SamplingParams params;
      params.top_p = top_p;
      const ReferenceSet expected = reference_set(row, params);
      const std::vector<TokenId> got = kept_ids(row, params);
      // Where thousands of tokens weigh almost the same, float weights may move the cut by a few.
      std::vector<TokenId> differing;
      std::set_symmetric_difference(got.begin(), got.end(), expected.ids.begin(),
                                    expected.ids.end(), std::back_inserter(differing));
      EXPECT_LE(differing.size(), expected.ids.size() / 1000)
          << "sigma " << sigma << " top_p " << top_p;
    }
  }
}

TEST(TruncationTest, TiesAreCutByAscendingId) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> row = tied_row(300, 6, seed);
    for (const float top_p : {0.05f, 0.3f, 0.77f, 0.93f, 1.0f}) {
      for (const int top_k : {0, 3, 60, 200}) {
        SamplingParams params;
        params.top_p = top_p;
        params.top_k = top_k;
        const ReferenceSet expected = reference_set(row, params);
        if (expected.margin < 1e-7) continue;
        ASSERT_EQ(kept_ids(row, params), expected.ids) << describe(params) << " seed " << seed;
      }
    }
  }
}

TEST(TruncationTest, AnExactlyReachedMassAddsNoToken) {
  SamplingParams params;
  params.top_p = 0.5f;
  EXPECT_EQ(kept_ids({2, 2, 2, 2}, params), (std::vector<TokenId>{0, 1}));
  params.top_p = 0.75f;
  EXPECT_EQ(kept_ids({2, 2, 2, 2}, params), (std::vector<TokenId>{0, 1, 2}));
  params.top_p = 0.7500001f;
  EXPECT_EQ(kept_ids({2, 2, 2, 2}, params), (std::vector<TokenId>{0, 1, 2, 3}));
}

TEST(TruncationTest, AWholeVocabularyOfEqualTokensIsCutToTheShare) {
  const std::vector<float> row(262144, 0.25f);
  SamplingParams params;
  params.top_p = 0.5f;
  const std::vector<TokenId> ids = kept_ids(row, params);
  EXPECT_EQ(ids.size(), 131072u);
  EXPECT_EQ(ids.back(), 131071);
}

TEST(TruncationTest, TheSmallestTopPKeepsTheBestToken) {
  SamplingParams params;
  params.top_p = std::numeric_limits<float>::min();
  std::vector<float> row = random_row(1000, 2.0f, 9);
  row[613] = 30.0f;
  row[700] = 30.0f;
  EXPECT_EQ(kept_ids(row, params), std::vector<TokenId>{613});
}

TEST(TruncationTest, TopPCountsTheShareOfWhatTopKLeft) {
  // Probabilities 0.4, 0.3, 0.2, 0.1; of the first three the shares are 0.444, 0.333, 0.222.
  std::vector<float> row;
  for (const float p : {0.4f, 0.3f, 0.2f, 0.1f})
    row.push_back(std::log(p));
  SamplingParams params;
  params.top_p = 0.72f;
  EXPECT_EQ(kept_ids(row, params), (std::vector<TokenId>{0, 1, 2}));
  params.top_k = 3;
  EXPECT_EQ(kept_ids(row, params), (std::vector<TokenId>{0, 1}));
}

TEST(TruncationTest, MinPIsRelativeToTheBest) {
  std::vector<float> row;
  for (const float p : {0.1f, 0.5f, 0.26f, 0.14f})
    row.push_back(std::log(p));
  SamplingParams params;
  params.min_p = 0.25f;
  EXPECT_EQ(kept_ids(row, params), (std::vector<TokenId>{1, 2, 3}));
  params.min_p = 0.6f;
  EXPECT_EQ(kept_ids(row, params), std::vector<TokenId>{1});
  params.min_p = 1.0f;
  EXPECT_EQ(kept_ids(row, params), std::vector<TokenId>{1});
}

TEST(TruncationTest, TokensOfNoProbabilityAreNotKept) {
  std::vector<float> row(100, kNegativeInfinity);
  row[4] = 1.0f;
  row[60] = 0.0f;
  row[61] = -200.0f;
  SamplingParams params;
  EXPECT_EQ(kept_ids(row, params), (std::vector<TokenId>{4, 60}));
  params.top_k = 10;
  EXPECT_EQ(kept_ids(row, params), (std::vector<TokenId>{4, 60}));
  params.top_p = 0.9999f;
  EXPECT_EQ(kept_ids(row, params), (std::vector<TokenId>{4, 60}));
}

TEST(TruncationTest, PlusInfinityLeavesNothingElse) {
  std::vector<float> row = random_row(100, 2.0f, 1);
  row[40] = row[77] = std::numeric_limits<float>::infinity();
  for (const int top_k : {0, 1, 2, 50}) {
    for (const float top_p : {0.4f, 0.99f, 1.0f}) {
      SamplingParams params;
      params.top_k = top_k;
      params.top_p = top_p;
      const std::vector<TokenId> ids = kept_ids(row, params);
      const bool one = top_k == 1 || top_p == 0.4f;
      EXPECT_EQ(ids, one ? std::vector<TokenId>{40} : (std::vector<TokenId>{40, 77}));
    }
  }
}

}  // namespace
}  // namespace tvllm::sampling
