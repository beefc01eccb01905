// SPDX-License-Identifier: Apache-2.0
// Every cut and thousands of changed bytes: an error or a file that can be used, never a crash. The
// sanitizers watch this test.
#include <random>

#include "base/strings.h"
#include "loader/gguf_config.h"
#include "loader/gguf_tokenizer_data.h"
#include "loader/inspect.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

// A file with every kind of field, small enough to cut at each byte.
GgufBuilder small_file() {
  return GgufBuilder()
      .str("general.architecture", "llama")
      .u32("llama.block_count", 2)
      .f32("f", 0.5f)
      .boolean("b", true)
      .strings("strings", {"first", "", "third"})
      .i32s("ints", {1, 2, 3})
      .tensor({.name = "one", .shape = {2, 4}})
      .tensor({.name = "two",
               .type = tvllm::testing::kGgmlQ8_0,
               .shape = {1, 32},
               .data = std::string(34, 'q')});
}

// Uses all of an open file, as the engine and `inspect` do.
std::size_t use(const GgufFile& file) {
  std::size_t sum = describe_model_file(file, {.show_whole_strings = true}).size();
  for (const TensorInfo& tensor : file.tensors())
    sum += std::to_integer<std::size_t>(tensor.data.front()) +
           std::to_integer<std::size_t>(tensor.data.back());
  Result<ModelConfig> config = read_model_config(file);
  const Result<TokenizerData> tokenizer = read_tokenizer_data(file);
  if (config && tokenizer && add_vocabulary(file, *tokenizer, *config)) ++sum;
  return sum;
}

void expect_error_or_usable(const std::string& bytes) {
  // A copy of just that size, so that the address sanitizer sees a read past the end.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const Result<GgufFile> file = parse({exact.data(), exact.size()});
  if (file) {
    EXPECT_GT(use(*file), 0u);
  } else {
    EXPECT_THAT(file.error().message, ::testing::StartsWith("'model.gguf': "));
    EXPECT_EQ(file.error().message.find('\n'), std::string::npos) << file.error().message;
  }
}

TEST(GgufRobustnessTest, AFileCutAnywhereIsCalledTruncated) {
  const std::string whole = small_file().build();
  const Result<GgufFile> opened = parse(whole);
  ASSERT_TRUE(opened) << opened.error().message;
  const std::size_t data_end = opened->tensors()[1].file_offset + opened->tensors()[1].data.size();
  for (std::size_t length = 0; length < data_end; ++length) {
    const std::vector<char> part(whole.begin(),
                                 whole.begin() + static_cast<std::ptrdiff_t>(length));
    const Result<GgufFile> file = parse({part.data(), part.size()});
    ASSERT_FALSE(file) << length;
    EXPECT_THAT(file.error().message, ::testing::HasSubstr("truncated")) << length;
  }
}

TEST(GgufRobustnessTest, ARealModelCutAnywhereInItsMetadataIsRefused) {
  const std::string whole = tiny_llama(1).build();
  const Result<GgufFile> opened = parse(whole);
  ASSERT_TRUE(opened);
  for (std::size_t length = 0; length <= opened->data_offset(); ++length)
    ASSERT_FALSE(parse(std::string_view(whole).substr(0, length))) << length;
}

TEST(GgufRobustnessTest, AnyByteMayBeAnyValue) {
  const std::string whole = small_file().build();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      expect_error_or_usable(changed);
    }
  }
}

TEST(GgufRobustnessTest, RandomChangesOfAModel) {
  constexpr int kNumCases = 4000;
  const std::string whole = tiny_llama(1).build();
  const std::size_t metadata_bytes = parse(whole)->data_offset();
  std::mt19937 random(20240917);
  for (int i = 0; i < kNumCases; ++i) {
    // Mostly in the metadata, mostly few bytes; the data may be anything at all.
    std::string changed = whole.substr(0, metadata_bytes + 4096);
    if (i % 2 == 0) changed = whole;
    const int num_changes = 1 << (random() % 6);
    for (int change = 0; change < num_changes; ++change)
      changed[random() % metadata_bytes] = static_cast<char>(random());
    expect_error_or_usable(changed);
  }
}

// Eight bytes at a time, since lengths, counts, dimensions and offsets are 64 bits.
TEST(GgufRobustnessTest, RandomWordsOfSmallAndHugeValue) {
  constexpr int kNumCases = 4000;
  const std::string whole = small_file().build();
  std::mt19937_64 random(7);
  for (int i = 0; i < kNumCases; ++i) {
    std::string changed = whole;
    const std::uint64_t word = random() >> (random() % 64);
    std::memcpy(changed.data() + random() % (changed.size() - 8), &word, sizeof(word));
    expect_error_or_usable(changed);
  }
}

TEST(GgufRobustnessTest, RandomBytesAfterTheHeader) {
  std::mt19937 random(99);
  for (int i = 0; i < 2000; ++i) {
    ByteWriter file;
    file.raw("GGUF").u32(3).u64(random() % 4).u64(random() % 4);
    for (std::uint32_t left = random() % 200; left > 0; --left)
      file.number(static_cast<std::uint8_t>(random() % 3 == 0 ? random() : random() % 10));
    expect_error_or_usable(file.bytes());
  }
}

}  // namespace
}  // namespace tvllm::loader
