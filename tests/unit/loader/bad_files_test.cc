// SPDX-License-Identifier: Apache-2.0
// Files that made other parsers crash, loop or allocate without bound
// (tests/data/loader/bad_*.txt), opened as files and through the whole of load_model_file.
#include <sys/resource.h>

#include <chrono>
#include <fstream>

#include "base/strings.h"
#include "loader/load_model_file.h"
#include "tests/support/temp_path.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

struct BadFile {
  std::string name;
  std::vector<std::string> expected;  // parts of the error
  std::string what;
  std::string bytes;
};

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::vector<BadFile> read_bad_files(const std::string& name) {
  std::ifstream input(std::string(TVLLM_TEST_DATA) + "/loader/" + name);
  std::vector<BadFile> files;
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string_view> cells = split(line, '\t');
    BadFile file{std::string(cells[0]), {}, std::string(cells[2]), from_hex(cells[3])};
    for (const std::string_view part : split(cells[1], '|'))
      file.expected.emplace_back(part);
    files.push_back(std::move(file));
  }
  return files;
}

BadFile deeply_nested() {
  ByteWriter file;
  file.raw("GGUF").u32(3).u64(0).u64(1).str("x.y").u32(9);
  for (int i = 0; i < 20000; ++i)
    file.u32(9).u64(1);
  file.u32(4).u64(1).u32(7);
  return {"g14_nested", {"'x.y'", "arrays of arrays"}, "array nested 20000 deep", file.bytes()};
}

std::int64_t peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// An error of one line that names the file and every expected part, soon and in little memory.
void expect_refused(const BadFile& bad) {
  SCOPED_TRACE(bad.name + ": " + bad.what);
  const tvllm::testing::TempPath scratch(bad.name + ".gguf");
  const std::string& path = scratch.str();
  tvllm::testing::write_file(path, bad.bytes);
  const std::int64_t peak_before = peak_kib();
  const auto start = std::chrono::steady_clock::now();
  const Result<ModelFile> file = load_model_file(path);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, ::testing::StartsWith("'" + path + "': "));
  EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
  for (const std::string& part : bad.expected)
    EXPECT_THAT(file.error().message, ::testing::HasSubstr(part));
  EXPECT_LT(elapsed, std::chrono::seconds(1));
  EXPECT_LT(peak_kib() - peak_before, 64 * 1024);
}

TEST(BadFilesTest, HeadersThatLieAreRefused) {
  std::vector<BadFile> files = read_bad_files("bad_headers.txt");
  ASSERT_EQ(files.size(), 16u);
  files.push_back(deeply_nested());
  for (const BadFile& bad : files)
    expect_refused(bad);
}

TEST(BadFilesTest, ImpossibleAlignmentsAreRefused) {
  const std::vector<BadFile> files = read_bad_files("bad_alignments.txt");
  ASSERT_EQ(files.size(), 7u);
  for (const BadFile& bad : files)
    expect_refused(bad);
}

// What a count can claim has nothing to do with what is allocated or walked for it.
TEST(BadFilesTest, CountsWithinTheLimitsCostNoMoreThanTheFile) {
  ByteWriter many_entries;
  many_entries.raw("GGUF").u32(3).u64(0).u64(65536);
  expect_refused(
      {"many_entries", {"truncated"}, "65536 entries in no bytes", many_entries.bytes()});
  ByteWriter many_tensors;
  many_tensors.raw("GGUF").u32(3).u64(65536).u64(0);
  expect_refused(
      {"many_tensors", {"truncated"}, "65536 tensors in no bytes", many_tensors.bytes()});
  ByteWriter long_array;
  long_array.raw("GGUF").u32(3).u64(0).u64(1).str("a").u32(9).u32(8).u64(1 << 22);
  expect_refused({"long_array", {"'a'[0]", "truncated"}, "4M strings", long_array.bytes()});
  ByteWriter long_numbers;
  long_numbers.raw("GGUF").u32(3).u64(0).u64(1).str("a").u32(9).u32(12).u64(1 << 22).u64(0);
  expect_refused({"long_numbers", {"'a'", "truncated"}, "4M doubles", long_numbers.bytes()});
}

TEST(BadFilesTest, OtherFormatsAreNamed) {
  const std::vector<BadFile> files = {
      {"lfs",
       {"Git LFS pointer", "git lfs pull"},
       "",
       "version https://git-lfs.github.com/spec/v1\n"},
      {"zip", {"zip archive"}, "", "PK\x03\x04 and so on"},
      {"pickle", {"pickle"}, "", "\x80\x02}q"},
      {"html", {"HTML page", "download failed"}, "", "<!DOCTYPE html><html>"},
      {"gzip", {"gzip"}, "", "\x1f\x8b\x08 and so on"},
      {"json", {"JSON"}, "", "{\"architectures\": []}"},
      {"ggjt", {"before GGUF"}, "", "tjgg and so on"},
      {"safetensors", {"safetensors"}, "", std::string("\x10\0\0\0\0\0\0\0{\"a\":1}         ", 24)},
      {"other", {"magic", "expected a GGUF file", "'\\x00abc'"}, "", std::string("\0abcdefgh", 9)},
      {"tiny", {"magic", "'x'"}, "", "x"},
  };
  for (const BadFile& bad : files)
    expect_refused(bad);
}

}  // namespace
}  // namespace tvllm::loader
