// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tvllm {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return invalid_argument("not a digit", "c");
  return c - '0';
}

Result<int> sum_of_digits(const std::string& text) {
  int sum = 0;
  for (const char c : text) {
    TVLLM_TRY(const int digit, parse_digit(c));
    sum += digit;
  }
  return sum;
}

Status check_digits(const std::string& text, int& num_checked) {
  for (const char c : text) {
    if (Result<int> digit = parse_digit(c); !digit) return std::move(digit).error();
    ++num_checked;
  }
  return {};
}

Status check_twice(const std::string& text, int& num_checked) {
  TVLLM_RETURN_IF_ERROR(check_digits(text, num_checked));
  TVLLM_RETURN_IF_ERROR(check_digits(text, num_checked));
  return {};
}

TEST(ResultTest, HoldsAValueOrAnError) {
  const Result<int> good = parse_digit('7');
  ASSERT_TRUE(good.has_value());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, 7);
  EXPECT_EQ(good.value(), 7);

  const Result<int> bad = parse_digit('x');
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(bad.error().message, "not a digit");
  EXPECT_EQ(bad.error().param, "c");
}

TEST(ResultTest, TryHandsTheValueOnOrReturnsTheError) {
  EXPECT_EQ(*sum_of_digits("123"), 6);
  const Result<int> bad = sum_of_digits("1x3");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().param, "c");
}

TEST(ResultTest, ValuesAreMovedOutNotCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  const auto use = [&]() -> Result<int> {
    TVLLM_TRY(const std::unique_ptr<int> owned, make());
    return *owned;
  };
  EXPECT_EQ(*use(), 5);
  Result<std::unique_ptr<int>> result = make();
  EXPECT_EQ(**result, 5);
  const std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 5);
}

TEST(StatusTest, IsGoodUnlessItCarriesAnError) {
  EXPECT_TRUE(Status().has_value());
  const Status bad = make_error(ErrorCode::kIo, "cannot open 'x'");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kIo);
  EXPECT_EQ(bad.error().message, "cannot open 'x'");
  EXPECT_TRUE(bad.error().param.empty());
}

TEST(StatusTest, ReturnIfErrorStopsAtTheFirst) {
  int num_checked = 0;
  EXPECT_TRUE(check_twice("12", num_checked).has_value());
  EXPECT_EQ(num_checked, 4);
  num_checked = 0;
  EXPECT_FALSE(check_twice("1x", num_checked).has_value());
  EXPECT_EQ(num_checked, 1);
}

}  // namespace
}  // namespace tvllm
