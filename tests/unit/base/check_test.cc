// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <gtest/gtest.h>

namespace tvllm {
namespace {

TEST(CheckDeathTest, SaysConditionAndValuesAndAborts) {
  const int ref_count = 0;
  EXPECT_DEATH(TVLLM_CHECK(ref_count > 0, "block ", 7), "check failed: ref_count > 0: block 7");
  EXPECT_DEATH(TVLLM_CHECK(ref_count == 1), "check failed: ref_count == 1");
}

TEST(CheckTest, EvaluatesTheConditionOnceAndValuesOnlyOnFailure) {
  int num_conditions = 0;
  int num_values = 0;
  TVLLM_CHECK(++num_conditions == 1, ++num_values);
  EXPECT_EQ(num_conditions, 1);
  EXPECT_EQ(num_values, 0);
}

TEST(CheckTest, IsOneStatement) {
  bool other = false;
  const bool yes = true;
  if (yes)
    TVLLM_CHECK(true);
  else
    other = true;
  EXPECT_FALSE(other);
}

}  // namespace
}  // namespace tvllm
