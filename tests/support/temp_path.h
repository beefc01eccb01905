// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/strings.h"

namespace tvllm::testing {

// The path of a scratch file of this process: ctest runs the tests of one binary side by side, and
// a file that another process rewrites while it is mapped is a bus error. Removed at the end.
class TempPath {
 public:
  explicit TempPath(std::string_view name)
      : path_(str_cat(::testing::TempDir(), "/tvllm_", ::getpid(), "_", name)) {}
  ~TempPath() { std::remove(path_.c_str()); }
  TempPath(const TempPath&) = delete;
  TempPath& operator=(const TempPath&) = delete;

  const std::string& str() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace tvllm::testing
