// SPDX-License-Identifier: Apache-2.0
#include "output/logprob_aligner.h"

#include <gtest/gtest.h>

#include <vector>

namespace tvllm::output {
namespace {

class AlignerTest : public ::testing::Test {
 protected:
  void add(TokenId id, std::size_t num_bytes) {
    TokenPiece piece;
    piece.id = id;
    aligner_.add(std::move(piece), num_bytes);
  }
  std::vector<TokenId> released(std::size_t text_len) {
    std::vector<TokenPiece> pieces;
    aligner_.release(text_len, pieces);
    return ids_of(pieces);
  }
  static std::vector<TokenId> ids_of(const std::vector<TokenPiece>& pieces) {
    std::vector<TokenId> ids;
    ids.reserve(pieces.size());
    for (const TokenPiece& piece : pieces)
      ids.push_back(piece.id);
    return ids;
  }

  LogprobAligner aligner_;
};

using Ids = std::vector<TokenId>;

TEST_F(AlignerTest, ATokenWaitsForItsLastByteToBeShown) {
  add(1, 3);
  aligner_.complete(3, 3);
  EXPECT_EQ(released(2), Ids{});
  EXPECT_EQ(aligner_.num_held(), 1u);
  EXPECT_EQ(released(3), Ids{1});
  EXPECT_EQ(released(3), Ids{});
}

TEST_F(AlignerTest, ATokenThatEndsInsideACharacterWaitsForTheRest) {
  add(1, 2);  // "x" and the first byte of two
  aligner_.complete(1, 1);
  EXPECT_EQ(released(1), Ids{});
  add(2, 3);
  aligner_.complete(3, 3);
  EXPECT_EQ(released(3), (Ids{1, 2}));
}

TEST_F(AlignerTest, ATokenWithoutTextGoesWithTheTextBeforeIt) {
  add(1, 3);
  aligner_.complete(3, 3);
  add(2, 3);
  aligner_.complete(3, 3);
  EXPECT_EQ(released(2), Ids{});
  EXPECT_EQ(released(3), (Ids{1, 2}));
}

TEST_F(AlignerTest, ReleaseAllGivesTheRestInOrder) {
  add(1, 3);
  aligner_.complete(3, 3);
  add(2, 5);
  std::vector<TokenPiece> pieces;
  aligner_.release_all(pieces);
  EXPECT_EQ(ids_of(pieces), (Ids{1, 2}));
  EXPECT_EQ(aligner_.num_held(), 0u);
  add(3, 6);
  aligner_.complete(6, 6);
  EXPECT_EQ(released(6), Ids{3});
}

}  // namespace
}  // namespace tvllm::output
