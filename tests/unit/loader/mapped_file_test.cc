// SPDX-License-Identifier: Apache-2.0
#include "loader/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/gguf_builder.h"

namespace tvllm::loader {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/mapped_file_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string path = folder_ + "/" + name;
    tvllm::testing::write_file(path, bytes);
    return path;
  }

  // The path is in the sentence, and so is `what`.
  static void expect_error(const std::string& path, ErrorCode code, const std::string& what) {
    const Result<MappedFile> file = MappedFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, code);
    EXPECT_THAT(file.error().message, HasSubstr(what));
    EXPECT_THAT(file.error().message, HasSubstr("'" + path + "'"));
  }

  std::string folder_;
};

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, ShowsTheBytesOfTheFile) {
  const Result<MappedFile> file = MappedFile::open(write("a", "some bytes"));
  ASSERT_TRUE(file);
  EXPECT_EQ(text_of(*file), "some bytes");
}

TEST_F(MappedFileTest, BytesStayWhereTheyAreWhenItMoves) {
  Result<MappedFile> opened = MappedFile::open(write("a", "first"));
  ASSERT_TRUE(opened);
  const std::byte* data = opened->bytes().data();
  MappedFile moved = std::move(*opened);
  EXPECT_EQ(moved.bytes().data(), data);
  EXPECT_TRUE(opened->bytes().empty());

  Result<MappedFile> other = MappedFile::open(write("b", "second"));
  ASSERT_TRUE(other);
  moved = std::move(*other);
  EXPECT_EQ(text_of(moved), "second");
}

TEST_F(MappedFileTest, OutlivesTheFilesName) {
  const std::string path = write("a", "still here");
  const Result<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(*file), "still here");
}

TEST_F(MappedFileTest, HintsChangeNothing) {
  const Result<MappedFile> file = MappedFile::open(write("a", std::string(100000, 'x')));
  ASSERT_TRUE(file);
  file->will_need(file->bytes().subspan(5000, 10));
  file->dont_need(file->bytes());
  file->dont_need({});
  EXPECT_EQ(text_of(*file), std::string(100000, 'x'));
}

TEST_F(MappedFileTest, RefusesAFileThatIsNotThere) {
  expect_error(folder_ + "/absent.gguf", ErrorCode::kNotFound, "No such file");
  expect_error(write("a", "x") + "/b", ErrorCode::kNotFound, "Not a directory");
}

TEST_F(MappedFileTest, RefusesAnEmptyFile) {
  expect_error(write("a", ""), ErrorCode::kInvalidArgument, "the file is empty: truncated");
}

TEST_F(MappedFileTest, RefusesAFolder) {
  expect_error(folder_, ErrorCode::kInvalidArgument, "expected a regular file, found a folder");
}

TEST_F(MappedFileTest, RefusesAPipeWithoutWaitingForAWriter) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_error(path, ErrorCode::kInvalidArgument, "found a pipe");
}

TEST_F(MappedFileTest, RefusesADevice) {
  expect_error("/dev/zero", ErrorCode::kInvalidArgument, "found a device");
}

TEST_F(MappedFileTest, RefusesAPathWithANulByte) {
  const Result<MappedFile> file = MappedFile::open(write("a", "x") + std::string("\0.gguf", 6));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("NUL"));
}

TEST_F(MappedFileTest, RefusesAFileItMayNotRead) {
  const std::string path = write("a", "secret");
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  // Root reads everything: become nobody for a moment.
  const bool was_root = ::geteuid() == 0;
  ASSERT_TRUE(!was_root || ::seteuid(65534) == 0);
  const Result<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(!was_root || ::seteuid(0) == 0);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_THAT(file.error().message, HasSubstr("Permission denied"));
}

TEST_F(MappedFileTest, RefusesAFileTooLargeToMap) {
  const int fd = ::memfd_create("huge", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const bool is_huge = ::ftruncate(fd, off_t{1} << 50) == 0;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (is_huge) expect_error(path, ErrorCode::kIo, "cannot map");
  ::close(fd);
  if (!is_huge) GTEST_SKIP() << "no file of 2^50 bytes can be made here";
}

}  // namespace
}  // namespace tvllm::loader
