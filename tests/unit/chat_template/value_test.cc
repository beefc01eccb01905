// SPDX-License-Identifier: Apache-2.0
#include "chat_template/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "chat_template/limits.h"
#include "chat_template/runtime.h"

namespace tvllm::chat_template {
namespace {

Value tuple(std::vector<Value> items) {
  return Value::sequence(std::make_shared<const Sequence>(SequenceType::kTuple, std::move(items)));
}

TEST(ValueTest, ADictKeepsTheFirstPlaceAndTheLastValueOfAKey) {
  const Value dict = Value::dict({{Text("b"), Value::integer(1)},
                                  {Text("a"), Value::integer(2)},
                                  {Text("b"), Value::integer(3)},
                                  {Text("c"), Value::integer(4)},
                                  {Text("b"), Value::integer(5)}});
  const std::vector<Member>& members = dict.as_dict().members();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].key.as_text().bytes(), "b");
  EXPECT_EQ(members[0].value.as_int(), 5);
  EXPECT_EQ(members[1].key.as_text().bytes(), "a");
  EXPECT_EQ(members[2].key.as_text().bytes(), "c");
  EXPECT_EQ(dict.as_dict().find("a")->as_int(), 2);
  EXPECT_EQ(dict.as_dict().find("zz"), nullptr);
}

TEST(ValueTest, ALargeDictFindsEachOfItsKeys) {
  std::vector<std::pair<Text, Value>> members;
  for (int i = 0; i < 1000; ++i) {
    members.emplace_back(Text(std::to_string((i * 7919) % 1000)), Value::integer(i));
  }
  const Value dict = Value::dict(members);
  for (int i = 0; i < 1000; ++i) {
    const Value* found = dict.as_dict().find(std::to_string((i * 7919) % 1000));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->as_int(), i);
  }
}

TEST(ValueTest, NumbersCompareExactlyAcrossTypes) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_GT(compare_numbers(Value::integer(big), Value::real(9007199254740992.0)), 0);
  EXPECT_LT(compare_numbers(Value::real(9007199254740992.0), Value::integer(big)), 0);
  EXPECT_LT(compare_numbers(Value::integer(std::numeric_limits<std::int64_t>::max()),
                            Value::real(9223372036854775808.0)),
            0);
  EXPECT_EQ(compare_numbers(Value::integer(std::numeric_limits<std::int64_t>::min()),
                            Value::real(-9223372036854775808.0)),
            0);
  EXPECT_GT(compare_numbers(Value::integer(-1), Value::real(-1.5)), 0);
  EXPECT_LT(compare_numbers(Value::integer(1), Value::real(1e300)), 0);
  EXPECT_GT(compare_numbers(Value::integer(1), Value::real(-1e300)), 0);
  EXPECT_LT(compare_numbers(Value::integer(1), Value::real(std::nan(""))), 0);
  EXPECT_EQ(compare_numbers(Value::boolean(true), Value::real(1.0)), 0);
}

TEST(ValueTest, OnlySmallTuplesOfHashablesAreKeys) {
  EXPECT_TRUE(is_hashable(Value::none()));
  EXPECT_TRUE(is_hashable(tuple({Value::integer(1), tuple({Value::string("a")})})));
  EXPECT_FALSE(is_hashable(Value::list({})));
  EXPECT_FALSE(is_hashable(tuple({Value::list({})})));
  EXPECT_TRUE(is_hashable(tuple(std::vector<Value>(kMaxKeyWeight - 1))));
  EXPECT_FALSE(is_hashable(tuple(std::vector<Value>(kMaxKeyWeight))));
  Value doubled = tuple({});
  for (int i = 0; i < 100; ++i)
    doubled = tuple({doubled, doubled});
  EXPECT_FALSE(is_hashable(doubled));
}

TEST(ValueTest, DepthCountsContainersAroundContainers) {
  EXPECT_EQ(Value::integer(1).depth(), 0);
  EXPECT_EQ(Value::list({}).depth(), 1);
  EXPECT_EQ(Value::dict({{Text("a"), Value::list({Value::list({})})}}).depth(), 3);
}

TEST(ValueTest, ARuntimeRefusesListsOneDeeperThanItsLimit) {
  Runtime runtime({}, nullptr);
  Value nested = Value::integer(1);
  for (int i = 0; i < kMaxValueDepth; ++i) {
    Result<Value> list = runtime.make_list({nested});
    ASSERT_TRUE(list) << i;
    nested = *list;
  }
  EXPECT_FALSE(runtime.make_list({nested}));
  EXPECT_FALSE(runtime.make_dict({{Value::string("a"), nested}}));
}

TEST(ValueTest, SameMeansTheSameThing) {
  const Value list = Value::list({});
  EXPECT_TRUE(list.is_same(list));
  EXPECT_FALSE(list.is_same(Value::list({})));
  EXPECT_TRUE(Value::none().is_same(Value::none()));
  EXPECT_FALSE(Value::integer(1).is_same(Value::boolean(true)));
}

}  // namespace
}  // namespace tvllm::chat_template
