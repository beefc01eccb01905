// SPDX-License-Identifier: Apache-2.0
#include "loader/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "base/strings.h"
#include "loader/printable.h"

namespace tvllm::loader {

namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

Error refusal(ErrorCode code, const std::string& path, std::string_view what) {
  return make_error(code, str_cat("'", printable(path), "': ", what));
}

Error system_error(const std::string& path, std::string_view action, int error_number) {
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  return refusal(missing ? ErrorCode::kNotFound : ErrorCode::kIo, path,
                 str_cat("cannot ", action, ": ",
                         std::error_code(error_number, std::generic_category()).message()));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "a special file";
}

void advise(std::span<const std::byte> part, int advice) {
  if (part.empty()) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t first_page = begin / page * page;
  (void)::madvise(reinterpret_cast<void*>(first_page), begin + part.size() - first_page, advice);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return refusal(ErrorCode::kInvalidArgument, path, "a path cannot hold a NUL byte");
  // O_NONBLOCK: opening a pipe without a writer must not wait for one.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return system_error(path, "open", errno);

  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error(path, "stat", errno);
  if (!S_ISREG(info.st_mode)) {
    return refusal(ErrorCode::kInvalidArgument, path,
                   str_cat("expected a regular file, found ", kind_of(info.st_mode)));
  }
  if (info.st_size <= 0) {
    return refusal(ErrorCode::kInvalidArgument, path,
                   "the file is empty: truncated, or a download that did not begin");
  }
  const auto num_bytes = static_cast<std::uint64_t>(info.st_size);
  if (num_bytes > std::numeric_limits<std::size_t>::max()) {
    return refusal(ErrorCode::kTooLarge, path,
                   str_cat(num_bytes, " bytes are more than this machine can address"));
  }
  void* base =
      ::mmap(nullptr, static_cast<std::size_t>(num_bytes), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (base == MAP_FAILED)
    return system_error(path, str_cat("map ", human_bytes(num_bytes), " of it"), errno);
  return MappedFile({static_cast<const std::byte*>(base), static_cast<std::size_t>(num_bytes)});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() {
  unmap();
}

void MappedFile::unmap() noexcept {
  if (bytes_.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::will_need(std::span<const std::byte> part) const {
  advise(part, MADV_WILLNEED);
}

void MappedFile::dont_need(std::span<const std::byte> part) const {
  advise(part, MADV_DONTNEED);
}

}  // namespace tvllm::loader
