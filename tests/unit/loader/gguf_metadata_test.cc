// SPDX-License-Identifier: Apache-2.0
// Metadata of a GGUF file: what is read, and what is refused.
#include "loader/gguf_limits.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

// One entry "k" of `type` with these bytes.
std::string with_entry(std::uint32_t type, const std::string& bytes) {
  return GgufBuilder().entry("k", type, bytes).build();
}

std::string array_of(std::uint32_t element_type, std::uint64_t count, const std::string& bytes) {
  return with_entry(9, ByteWriter().u32(element_type).u64(count).raw(bytes).bytes());
}

TEST(GgufMetadataTest, AFileWithNothingInItOpens) {
  const Result<GgufFile> file = parse(GgufBuilder().build());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->alignment(), 32u);
  EXPECT_EQ(file->data_offset(), 32u);
  EXPECT_TRUE(file->entries().empty());
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_EQ(file->path(), kTestPath);
}

TEST(GgufMetadataTest, EveryScalarTypeIsRead) {
  const std::string bytes = GgufBuilder()
                                .entry("u8", 0, "\xfe")
                                .entry("i8", 1, "\xfe")
                                .entry("u16", 2, "\xfe\xff")
                                .entry("i16", 3, "\xfe\xff")
                                .u32("u32", 4000000000)
                                .i32("i32", -5)
                                .f32("f32", 0.25f)
                                .boolean("bool", true)
                                .str("str", "text")
                                .u64("u64", 1ull << 63)
                                .entry("i64", 11, ByteWriter().number(std::int64_t{-7}).bytes())
                                .entry("f64", 12, ByteWriter().number(0.5).bytes())
                                .build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find("u8")->scalar<std::uint8_t>(), 254);
  EXPECT_EQ(file->find("i8")->scalar<std::int8_t>(), -2);
  EXPECT_EQ(file->find("u16")->scalar<std::uint16_t>(), 65534);
  EXPECT_EQ(file->find("i16")->scalar<std::int16_t>(), -2);
  EXPECT_EQ(*file->require<std::uint32_t>("u32"), 4000000000);
  EXPECT_EQ(*file->require<std::int32_t>("i32"), -5);
  EXPECT_EQ(*file->require<float>("f32"), 0.25f);
  EXPECT_EQ(*file->require<bool>("bool"), true);
  EXPECT_EQ(*file->require<std::string_view>("str"), "text");
  EXPECT_EQ(*file->require<std::uint64_t>("u64"), 1ull << 63);
  EXPECT_EQ(file->find("i64")->scalar<std::int64_t>(), -7);
  EXPECT_EQ(file->find("f64")->scalar<double>(), 0.5);
}

TEST(GgufMetadataTest, ArraysAreReadInPlace) {
  const std::string bytes = GgufBuilder()
                                .strings("strings", {"a", "", "long enough to leave"})
                                .strings("no strings", {})
                                .i32s("ints", {1, -2, 3})
                                .f32s("floats", {0.5f})
                                .build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file);
  const Result<GgufStrings> strings = file->require<GgufStrings>("strings");
  EXPECT_EQ(std::vector<std::string_view>(strings->begin(), strings->end()),
            (std::vector<std::string_view>{"a", "", "long enough to leave"}));
  EXPECT_EQ(file->require<GgufStrings>("no strings")->size(), 0u);
  const Result<GgufArray<std::int32_t>> ints = file->require<GgufArray<std::int32_t>>("ints");
  ASSERT_EQ(ints->size(), 3u);
  EXPECT_EQ((*ints)[1], -2);
  EXPECT_EQ((*file->require<GgufArray<float>>("floats"))[0], 0.5f);
}

TEST(GgufMetadataTest, EntriesKeepTheOrderOfTheFile) {
  const std::string bytes = GgufBuilder().u32("b", 1).u32("a", 2).build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file);
  ASSERT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->entries()[0].key, "b");
  EXPECT_EQ(file->entries()[1].key, "a");
}

TEST(GgufMetadataTest, AMissingKeyIsNamed) {
  const std::string bytes = GgufBuilder().build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(*file->optional<std::uint32_t>("llama.block_count"), std::nullopt);
  const Result<std::uint32_t> value = file->require<std::uint32_t>("llama.block_count");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "'model.gguf': 'llama.block_count': the key is missing");
  EXPECT_EQ(value.error().param, "llama.block_count");
}

TEST(GgufMetadataTest, AKeyOfAnotherTypeIsAnErrorEvenIfOptional) {
  const std::string bytes = GgufBuilder().u64("n", 5).i32s("list", {1}).build();
  const Result<GgufFile> file = parse(bytes);
  ASSERT_TRUE(file);
  expect_refusal(file->optional<std::uint32_t>("n").error(),
                 {"'n' at offset 0x25", "expected type uint32, found uint64"});
  expect_refusal(file->require<GgufStrings>("list").error(),
                 {"'list'", "expected type array of string, found array of int32"});
  expect_refusal(file->require<std::string_view>("list").error(),
                 {"expected type string, found array of int32"});
}

TEST(GgufMetadataTest, BothVersionsOpenAndNoOther) {
  EXPECT_TRUE(parse(GgufBuilder().version(2).build()));
  EXPECT_TRUE(parse(GgufBuilder().version(3).build()));
  for (const std::uint32_t version : {0u, 1u, 4u, 0xffffffffu}) {
    expect_refusal(refusal(GgufBuilder().version(version).build()),
                   {"version at offset 0x4", "expected 2 or 3, found " + std::to_string(version)});
  }
  EXPECT_EQ(refusal(GgufBuilder().version(1).build()).code, ErrorCode::kUnsupported);
}

TEST(GgufMetadataTest, BigEndianFilesAreRefusedAsSuch) {
  const Error error = refusal(GgufBuilder().version(0x03000000).build());
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  expect_refusal(error, {"version at offset 0x4", "big-endian"});
}

TEST(GgufMetadataTest, CountsAreRefusedPastTheirLimit) {
  expect_refusal(refusal(ByteWriter().raw("GGUF").u32(3).u64(0).u64(65537).bytes()),
                 {"metadata count at offset 0x10", "at most 65536, found 65537"});
  expect_refusal(refusal(ByteWriter().raw("GGUF").u32(3).u64(65537).u64(0).bytes()),
                 {"tensor count at offset 0x8", "at most 65536, found 65537"});
}

TEST(GgufMetadataTest, AsManyEntriesAsTheLimitOpen) {
  ByteWriter file;
  file.raw("GGUF").u32(3).u64(0).u64(kMaxMetadataEntries);
  for (std::uint64_t i = 0; i < kMaxMetadataEntries; ++i)
    file.str(std::to_string(i)).u32(0).raw("x");
  const Result<GgufFile> opened = parse(file.bytes());
  ASSERT_TRUE(opened);
  EXPECT_NE(opened->find("65535"), nullptr);
}

TEST(GgufMetadataTest, KeysHaveALengthLimit) {
  EXPECT_TRUE(parse(GgufBuilder().u32(std::string(kMaxKeyBytes, 'k'), 1).build()));
  expect_refusal(refusal(GgufBuilder().u32(std::string(kMaxKeyBytes + 1, 'k'), 1).build()),
                 {"key of metadata entry 0 at offset 0x18", "at most 65535 bytes, found 65536"});
}

TEST(GgufMetadataTest, KeysAreNamesInAscii) {
  expect_refusal(refusal(GgufBuilder().u32("", 1).build()),
                 {"key of metadata entry 0", "found an empty one"});
  expect_refusal(refusal(GgufBuilder().u32("a", 1).u32("b\nc", 1).build()),
                 {"key of metadata entry 1", "expected printable ASCII, found 'b\\x0ac'"});
  expect_refusal(refusal(GgufBuilder().u32("\xc3\xa9", 1).build()), {"printable ASCII"});
}

TEST(GgufMetadataTest, AKeyThatStandsTwiceIsRefusedWithBothPlaces) {
  const std::string bytes = GgufBuilder().u32("k", 1).u32("l", 1).extra_entry("k", 0, "x").build();
  expect_refusal(refusal(bytes), {"'k' at offset", "twice: metadata entries 0 and 2"});
}

TEST(GgufMetadataTest, UnknownTypesAreRefused) {
  expect_refusal(refusal(with_entry(13, "xxxxxxxx")),
                 {"type of 'k' at offset 0x21", "from 0 to 12, found 13"});
  expect_refusal(refusal(array_of(13, 1, "xxxxxxxx")), {"element type of 'k'", "found 13"});
}

TEST(GgufMetadataTest, ArraysOfArraysAreRefused) {
  expect_refusal(refusal(array_of(9, 1, ByteWriter().u32(4).u64(0).bytes())),
                 {"'k'", "arrays of arrays are not supported"});
}

TEST(GgufMetadataTest, BoolsAreZeroOrOne) {
  EXPECT_TRUE(parse(array_of(7, 2, std::string("\0\1", 2))));
  expect_refusal(refusal(with_entry(7, "\2")), {"'k' at offset 0x25", "0 or 1, found 2"});
  expect_refusal(refusal(array_of(7, 3, std::string("\0\1\xff", 3))),
                 {"'k' at offset 0x33", "0 or 1, found 255"});
}

TEST(GgufMetadataTest, StringsHaveALengthLimit) {
  const std::string longest(kMaxStringBytes, 's');
  EXPECT_TRUE(parse(GgufBuilder().str("k", longest).build()));
  const std::string_view limit = "at most 16777216 bytes, found 16777217";
  expect_refusal(refusal(GgufBuilder().str("k", longest + "s").build()),
                 {"'k' at offset 0x25", limit});
  expect_refusal(refusal(GgufBuilder().strings("k", {"a", longest + "s"}).build()),
                 {"'k'[1] at offset", limit});
}

TEST(GgufMetadataTest, ArraysHaveALengthLimit) {
  EXPECT_TRUE(parse(array_of(0, kMaxArrayElements, std::string(kMaxArrayElements, 'x'))));
  expect_refusal(
      refusal(array_of(0, kMaxArrayElements + 1, std::string(kMaxArrayElements + 1, 'x'))),
      {"length of 'k'", "at most 4194304, found 4194305"});
}

// Sixteen strings of 16 MiB, their lengths and the header are more than the limit.
TEST(GgufMetadataTest, AllMetadataTogetherHaveALimit) {
  GgufBuilder file;
  for (int i = 0; i < 16; ++i)
    file.str(std::string(1, static_cast<char>('a' + i)), std::string(kMaxStringBytes, 's'));
  const Error error = refusal(file.build());
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  expect_refusal(error, {"'p' at offset", "larger than the limit of 268435456 bytes"});
}

TEST(GgufMetadataTest, LengthsThatWouldWrapAreRefused) {
  for (const std::uint64_t length : {~0ull, ~0ull - 7, 1ull << 63, (1ull << 61) + 1}) {
    ByteWriter key;
    key.raw("GGUF").u32(3).u64(0).u64(1).u64(length).raw("k");
    expect_refusal(refusal(key.bytes()), {"key of metadata entry 0", std::to_string(length)});
    expect_refusal(refusal(with_entry(8, ByteWriter().u64(length).bytes())),
                   {"'k'", std::to_string(length)});
    expect_refusal(refusal(array_of(8, 1, ByteWriter().u64(length).bytes())),
                   {"'k'[0]", std::to_string(length)});
    expect_refusal(refusal(array_of(10, length, "12345678")),
                   {"length of 'k'", std::to_string(length)});
  }
}

TEST(GgufMetadataTest, AlignmentIsAPowerOfTwoFrom8To65536) {
  for (std::uint32_t alignment = 8; alignment <= 65536; alignment *= 2) {
    const std::string bytes = GgufBuilder().alignment(alignment).build();
    const Result<GgufFile> file = parse(bytes);
    ASSERT_TRUE(file) << alignment;
    EXPECT_EQ(file->alignment(), alignment);
    EXPECT_EQ(file->data_offset() % alignment, 0u);
  }
  for (const std::uint32_t alignment : {0u, 1u, 4u, 7u, 24u, 33u, 131072u, 0x80000000u, ~0u}) {
    expect_refusal(refusal(GgufBuilder().u32("general.alignment", alignment).build()),
                   {"'general.alignment' at offset 0x35", "from 8 to 65536 as uint32",
                    "found " + std::to_string(alignment)});
  }
}

}  // namespace
}  // namespace tvllm::loader
