// SPDX-License-Identifier: Apache-2.0
// Tensor infos and data of a GGUF file: what is read, and what is refused.
#include <limits>

#include "loader/gguf_limits.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

using tvllm::testing::kGgmlQ4_1;
using tvllm::testing::kGgmlQ8_0;
using tvllm::testing::TensorSpec;

std::string with_tensor(TensorSpec spec) {
  return GgufBuilder().tensor(std::move(spec)).build();
}

TEST(GgufTensorsTest, ShapeTypeAndBytesAreThoseOfTheFile) {
  const std::string matrix(2 * 2 * 20, 'm');
  const std::string bytes =
      GgufBuilder()
          .tensor({.name = "norm", .shape = {3}, .data = std::string("123456789012")})
          .tensor({.name = "matrix", .type = kGgmlQ4_1, .shape = {2, 64}, .data = matrix})
          .build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 2u);
  const TensorInfo* norm = file->find_tensor("norm");
  ASSERT_NE(norm, nullptr);
  EXPECT_EQ(norm->dtype, DType::kF32);
  EXPECT_EQ(norm->shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(norm->file_offset, file->data_offset());
  EXPECT_EQ(bytes.substr(norm->file_offset, norm->data.size()), "123456789012");
  const TensorInfo* second = file->find_tensor("matrix");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->dtype, DType::kQ4_1);
  EXPECT_EQ(second->shape, (std::vector<std::int64_t>{2, 64}));
  EXPECT_EQ(second->file_offset, file->data_offset() + 32);
  EXPECT_EQ(bytes.substr(second->file_offset, second->data.size()), matrix);
  EXPECT_EQ(second->data.data(), as_byte_span(bytes).data() + second->file_offset);
  EXPECT_EQ(file->find_tensor("norm2"), nullptr);
}

// Block lengths and sizes as in gguf.constants.GGML_QUANT_SIZES of the Python package.
TEST(GgufTensorsTest, EverySupportedTypeHasItsNumberAndSize) {
  struct Row {
    std::uint32_t id;
    DType dtype;
    std::uint64_t block_len, block_bytes;
  };
  const std::vector<Row> rows = {
      {0, DType::kF32, 1, 4},       {1, DType::kF16, 1, 2},      {30, DType::kBF16, 1, 2},
      {2, DType::kQ4_0, 32, 18},    {3, DType::kQ4_1, 32, 20},   {6, DType::kQ5_0, 32, 22},
      {7, DType::kQ5_1, 32, 24},    {8, DType::kQ8_0, 32, 34},   {12, DType::kQ4_K, 256, 144},
      {13, DType::kQ5_K, 256, 176}, {14, DType::kQ6_K, 256, 210}};
  for (const Row& row : rows) {
    const std::string data(3 * 2 * row.block_bytes, 'x');
    const std::string bytes =
        with_tensor({.name = "t", .type = row.id, .shape = {3, 2 * row.block_len}, .data = data});
    const Result<GgufFile> file = parse(bytes);
    ASSERT_TRUE(file) << row.id << ": " << file.error().message;
    EXPECT_EQ(file->tensors()[0].dtype, row.dtype);
    EXPECT_EQ(file->tensors()[0].data.size(), data.size());
    // One byte less in the file: truncated.
    expect_refusal(refusal(std::string_view(bytes).substr(0, bytes.size() - 32)),
                   {"data of tensor 't'", "truncated"});
    if (row.block_len > 1) {
      expect_refusal(
          refusal(with_tensor(
              {.name = "t", .type = row.id, .shape = {3, 2 * row.block_len - 1}, .data = data})),
          {"dimensions of tensor 't'", "multiple of " + std::to_string(row.block_len)});
    }
  }
}

TEST(GgufTensorsTest, OtherTypesAreRefusedByName) {
  const Error error =
      refusal(with_tensor({.name = "blk.0.attn_q.weight", .type = 18, .shape = {256}}));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  expect_refusal(error, {"type of tensor 'blk.0.attn_q.weight' at offset 0x3f",
                         "IQ3_XXS is not supported", "Q6_K"});
  for (std::uint32_t id = 0; id <= 40; ++id) {
    const std::string bytes = with_tensor({.name = "t", .type = id, .shape = {256}});
    const Result<GgufFile> file = parse(bytes);
    if (file) continue;
    EXPECT_EQ(file.error().code, ErrorCode::kUnsupported) << id;
    expect_refusal(file.error(), {"is not supported"});
  }
  const Error unknown = refusal(with_tensor({.name = "t", .type = 41, .shape = {256}}));
  EXPECT_EQ(unknown.code, ErrorCode::kInvalidArgument);
  expect_refusal(unknown, {"type of tensor 't'", "unknown number 41"});
}

TEST(GgufTensorsTest, OneToFourDimensionsFromOneUp) {
  EXPECT_TRUE(parse(with_tensor({.name = "t", .shape = {1}})));
  EXPECT_TRUE(parse(with_tensor({.name = "t", .shape = {2, 3, 4, 5}})));
  expect_refusal(refusal(with_tensor({.name = "t", .shape = {1, 1, 1, 1, 1}})),
                 {"dimensions of tensor 't'", "expected 1 to 4 of them, found 5"});
  expect_refusal(refusal(with_tensor({.name = "t", .shape = {}, .data = "1234"})), {"found 0"});
  expect_refusal(refusal(with_tensor({.name = "t", .shape = {0}, .data = "1234"})),
                 {"dimensions of tensor 't'", "each from 1 to 2147483647, found 0"});
  expect_refusal(refusal(with_tensor({.name = "t", .shape = {1ull << 31, 1}, .data = "1234"})),
                 {"dimensions of tensor 't'", "found 2147483648"});
  expect_refusal(refusal(with_tensor({.name = "t", .shape = {~0ull}, .data = "1234"})),
                 {"found 18446744073709551615"});
}

TEST(GgufTensorsTest, AShapeWhoseSizeWouldWrapIsRefused) {
  constexpr std::uint64_t kMax = 0x7fffffff;
  expect_refusal(
      refusal(with_tensor({.name = "t", .shape = {kMax, kMax, kMax, kMax}, .data = "x"})),
      {"dimensions of tensor 't'", "over 2^63"});
  // 2^16 * 2^16 * 2^16 * 2^14 floats are 2^64 bytes, which is 0 where nothing checks.
  expect_refusal(refusal(with_tensor(
                     {.name = "t", .shape = {1 << 16, 1 << 16, 1 << 16, 1 << 14}, .data = "x"})),
                 {"dimensions of tensor 't'", "over 2^63"});
  // 2^61 floats fit into 64 bits, but not into the file.
  expect_refusal(refusal(with_tensor({.name = "t", .shape = {1 << 30, 1 << 30}, .data = "x"})),
                 {"data of tensor 't'", "truncated"});
}

TEST(GgufTensorsTest, OffsetsThatWouldWrapAreRefused) {
  for (const std::uint64_t offset : {~0ull - 31, 1ull << 63, ~0ull - 63, 1ull << 40}) {
    expect_refusal(refusal(with_tensor({.name = "t", .shape = {8}, .offset = offset})),
                   {"data of tensor 't'", "the offset wrong", std::to_string(offset)});
  }
}

TEST(GgufTensorsTest, OffsetsAreMultiplesOfTheAlignment) {
  const auto file_with = [](std::uint64_t offset) {
    return GgufBuilder()
        .alignment(64)
        .tensor({.name = "a", .shape = {8}})
        .tensor({.name = "b", .shape = {8}, .offset = offset})
        .build();
  };
  EXPECT_TRUE(parse(file_with(64)));
  expect_refusal(refusal(file_with(32)),
                 {"offset of tensor 'b'", "multiple of the alignment 64, found 32"});
}

TEST(GgufTensorsTest, TensorsShareNoByte) {
  const auto file_with = [](std::uint64_t offset) {
    return GgufBuilder()
        .tensor({.name = "a", .shape = {16}, .offset = offset})  // 64 bytes
        .tensor({.name = "b", .shape = {8}, .offset = 64})       // 32 bytes
        .tensor({.name = "c", .shape = {32}, .offset = 96})
        .build();
  };
  EXPECT_TRUE(parse(file_with(0)));
  for (const std::uint64_t offset : {32u, 64u, 96u}) {
    expect_refusal(refusal(file_with(offset)), {"data of tensor", "overlaps the data of tensor"});
  }
  // The whole file twice.
  expect_refusal(refusal(GgufBuilder()
                             .tensor({.name = "a", .shape = {64}})
                             .tensor({.name = "b", .shape = {64}, .offset = 0})
                             .build()),
                 {"data of tensor", "overlaps the data of tensor"});
}

TEST(GgufTensorsTest, GapsAndAnyOrderOfDataAreRight) {
  const std::string bytes = GgufBuilder()
                                .tensor({.name = "a", .shape = {8}, .offset = 96})
                                .tensor({.name = "b", .shape = {8}, .offset = 0})
                                .tensor({.name = "c", .shape = {16}, .offset = 32})
                                .tensor({.name = "filler", .shape = {8}, .offset = 128})
                                .build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find_tensor("a")->file_offset, file->data_offset() + 96);
}

TEST(GgufTensorsTest, NamesAreShortAndStandOnce) {
  EXPECT_TRUE(parse(with_tensor({.name = std::string(64, 'n'), .shape = {1}})));
  expect_refusal(refusal(with_tensor({.name = std::string(65, 'n'), .shape = {1}})),
                 {"name of tensor 0", "at most 64 bytes, found 65"});
  expect_refusal(refusal(with_tensor({.name = "", .shape = {1}})),
                 {"name of tensor 0", "found an empty one"});
  expect_refusal(refusal(GgufBuilder()
                             .tensor({.name = "same", .shape = {1}})
                             .tensor({.name = "other", .shape = {1}})
                             .tensor({.name = "same", .shape = {1}})
                             .build()),
                 {"name of tensor 'same'", "twice: tensors 0 and 2"});
}

TEST(GgufTensorsTest, NamesFromTheFileCannotForgeALine) {
  expect_refusal(refusal(with_tensor({.name = "a\nERROR b\x1b[2J", .type = 18, .shape = {256}})),
                 {"'a\\x0aERROR b\\x1b[2J'"});
}

TEST(GgufTensorsTest, TheLastTensorNeedsNoPadding) {
  const std::string bytes = with_tensor({.name = "t", .shape = {3}});  // 12 bytes and 20 of padding
  EXPECT_TRUE(parse(std::string_view(bytes).substr(0, bytes.size() - 20)));
  expect_refusal(refusal(std::string_view(bytes).substr(0, bytes.size() - 21)),
                 {"data of tensor 't'", "truncated", "12 bytes at 0 of the data, which has 11"});
}

TEST(GgufTensorsTest, ManyTensorsAreFoundByName) {
  GgufBuilder builder;
  for (int i = 0; i < 3000; ++i)
    builder.tensor({.name = "t" + std::to_string(i), .shape = {1}});
  const std::string bytes = builder.build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_NE(file->find_tensor("t" + std::to_string(i)), nullptr);
    EXPECT_EQ(file->find_tensor("t" + std::to_string(i))->name, "t" + std::to_string(i));
  }
}

}  // namespace
}  // namespace tvllm::loader
