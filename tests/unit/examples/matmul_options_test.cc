// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "examples/matmul/options.h"

namespace tvllm::examples {
namespace {

Result<MatmulOptions> parse(std::vector<const char*> arguments) {
  return parse_matmul_options(arguments);
}

TEST(MatmulOptionsTest, GoodOnesAreTaken) {
  const auto options =
      parse({"--shape", "1,32768,7", "--type", "bf16", "--rung", "naive", "--repeat", "1000"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->shape->m, 1);
  EXPECT_EQ(options->shape->n, 32768);
  EXPECT_EQ(options->shape->k, 7);
  EXPECT_TRUE(options->is_bf16);
  EXPECT_EQ(options->rung, "naive");
  EXPECT_EQ(options->repeat, 1000);
  EXPECT_TRUE(parse({"--help"})->wants_help);
  EXPECT_FALSE(parse({})->shape.has_value());
}

TEST(MatmulOptionsTest, BadOnesAreNamedInOneLine) {
  const std::vector<std::vector<const char*>> bad = {{"--shape"},
                                                     {"--shape", "1,2"},
                                                     {"--shape", "0,1,1"},
                                                     {"--shape", "1,1,32769"},
                                                     {"--shape", "1,,1"},
                                                     {"--shape", "1,1,1,1"},
                                                     {"--shape", "1,1,1x"},
                                                     {"--type", "f64"},
                                                     {"--rung", "ninth"},
                                                     {"--repeat", "0"},
                                                     {"--repeat", "1001"},
                                                     {"--fast"},
                                                     {"4096"}};
  for (const auto& arguments : bad) {
    const auto options = parse(arguments);
    ASSERT_FALSE(options.has_value()) << arguments.back();
    EXPECT_EQ(options.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(options.error().message.find("matmul: "), 0u);
    EXPECT_EQ(options.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace tvllm::examples
