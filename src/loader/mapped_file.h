// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace tvllm::loader {

// A whole regular file, mapped read-only. Move-only; unmapped when destroyed, so whoever holds a
// view of `bytes()` must not outlive it. Thread-safe after construction.
//
// Nothing is read until it is touched: opening costs the same for any size. The mapping is private,
// but another process that truncates the file while it is mapped still makes reads past the new end
// fail with SIGBUS; model files are replaced by renaming, not by writing into them.
class MappedFile {
 public:
  // Refuses folders, pipes, devices and empty files with a sentence that names the path.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

  // Hints to the kernel, which may ignore them. Both round outwards to whole pages.
  void will_need(std::span<const std::byte> part) const;  // start reading it in the background
  void dont_need(std::span<const std::byte> part) const;  // it leaves resident memory

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  void unmap() noexcept;

  std::span<const std::byte> bytes_;  // empty after a move
};

}  // namespace tvllm::loader
