// SPDX-License-Identifier: Apache-2.0
#include "loader/inspect.h"

#include "base/strings.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string describe(const GgufBuilder& builder, const InspectOptions& options = {}) {
  const std::string bytes = builder.build();
  const Result<GgufFile> file = parse(bytes);
  return file ? describe_model_file(*file, options) : file.error().message;
}

TEST(InspectTest, ShowsMetadataTensorsAndTotals) {
  const std::string text =
      describe(GgufBuilder()
                   .str("general.architecture", "llama")
                   .u32("llama.block_count", 2)
                   .f32("llama.rope.freq_base", 100000.0f)
                   .boolean("tokenizer.ggml.add_bos_token", false)
                   .strings("tokenizer.ggml.tokens", std::vector<std::string>(1200, "ab"))
                   .i32s("tokenizer.ggml.token_type", {3, 1, 1})
                   .tensor({.name = "token_embd.weight",
                            .type = tvllm::testing::kGgmlQ8_0,
                            .shape = {4, 1024},
                            .data = std::string(128 * 34, 'x')})
                   .tensor({.name = "norm.weight", .shape = {512}}));
  EXPECT_EQ(
      text,
      "model.gguf\n"
      "GGUF version 3, 18.4 KiB, alignment 32, data at 0x3080\n"
      "6 metadata entries, 2 tensors\n"
      "\n"
      "Metadata\n"
      "  general.architecture          string     \"llama\"\n"
      "  llama.block_count             uint32     2\n"
      "  llama.rope.freq_base          float32    100000\n"
      "  tokenizer.ggml.add_bos_token  bool       false\n"
      "  tokenizer.ggml.tokens         string[]   1200 strings: \"ab\", \"ab\", \"ab\", \"ab\", "
      "\"ab\", \"ab\", ...\n"
      "  tokenizer.ggml.token_type     int32[]    3: 3, 1, 1\n"
      "\n"
      "Tensors\n"
      "  name               type  shape            bytes      offset\n"
      "  token_embd.weight  Q8_0  4 x 1024         4,352      0x3080\n"
      "  norm.weight        F32   512              2,048      0x4180\n"
      "\n"
      "Totals\n"
      "  type   tensors        parameters        size bits/par.\n"
      "  F32          1               512     2.0 KiB     32.00\n"
      "  Q8_0         1             4,096     4.2 KiB      8.50\n"
      "  all          2             4,608     6.2 KiB     11.11\n");
}

TEST(InspectTest, EveryTypeOfNumberIsWritten) {
  const std::string text = describe(
      GgufBuilder()
          .entry("a", 0, "\xfe")
          .entry("b", 1, "\xfe")
          .entry("c", 2, "\xfe\xff")
          .entry("d", 3, "\xfe\xff")
          .u64("e", ~0ull)
          .entry("f", 11, std::string(8, '\xff'))
          .entry("g", 12, ByteWriter().number(0.1).bytes())
          .i32s("h", {})
          .entry("i", 9, ByteWriter().u32(7).u64(2).raw("\1").bytes() + std::string(1, '\0')));
  for (const char* line :
       {"a    uint8      254\n", "b    int8       -2\n", "c    uint16     65534\n",
        "d    int16      -2\n", "e    uint64     18446744073709551615\n", "f    int64      -1\n",
        "g    float64    0.1\n", "h    int32[]    0\n", "i    bool[]     2: true, false\n"}) {
    std::string expected = line;
    expected.erase(1, 2);  // keys are one column wide here
    EXPECT_THAT(text, HasSubstr("  " + expected));
  }
}

TEST(InspectTest, NoLineIsWiderThanAsked) {
  GgufBuilder builder = tiny_llama(1);
  builder.str("long", std::string(5000, 'x'))
      .str("escapes", std::string(300, '\n'))
      .strings("lists", std::vector<std::string>(30, std::string(90, 'y')))
      .i32s("numbers", std::vector<std::int32_t>(100, -2147483647));
  for (const std::size_t width : {80u, 100u, 140u}) {
    const std::string text = describe(builder, {.line_width = width});
    for (const std::string_view line : split(text, '\n')) {
      std::size_t columns = 0;
      for (const char c : line)
        columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
      EXPECT_LE(columns, width) << line;
    }
  }
}

TEST(InspectTest, TextFromTheFileCannotControlTheTerminal) {
  const std::string text = describe(GgufBuilder()
                                        .str("general.name", "a\nb\x1b[2J\u202e")
                                        .strings("list", {"c\rd", "\xff"})
                                        .tensor({.name = "t\x1b\n", .shape = {1}}),
                                    {.show_whole_strings = true});
  EXPECT_THAT(text, HasSubstr("\"a\\nb\\x1b[2J\\u202e\""));
  EXPECT_THAT(text, HasSubstr("2 strings: \"c\\rd\", \"\\xff\""));
  EXPECT_THAT(text, HasSubstr("t\\x1b\\n "));
  for (const char c : text)
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(InspectTest, PartsCanBeLeftOut) {
  const std::string totals =
      describe(tiny_llama(1), {.show_metadata = false, .show_tensors = false});
  EXPECT_THAT(totals, Not(HasSubstr("Metadata\n")));
  EXPECT_THAT(totals, Not(HasSubstr("Tensors\n")));
  EXPECT_THAT(totals, HasSubstr("Totals\n"));
}

TEST(InspectTest, LongTextIsShownInFullWhenAsked) {
  const std::string long_line(120, 'x');
  const GgufBuilder builder =
      GgufBuilder().str("short", "one line").str("template", "first\n" + long_line);
  EXPECT_THAT(describe(builder), Not(HasSubstr(long_line)));
  EXPECT_THAT(describe(builder, {.show_whole_strings = true}),
              HasSubstr("template  string     126 bytes:\n    | first\n    | " + long_line + "\n"));
}

TEST(InspectTest, AFileWithNothingInItIsDescribed) {
  EXPECT_THAT(describe(GgufBuilder()), HasSubstr("  all          0                 0         0 B"));
}

}  // namespace
}  // namespace tvllm::loader
