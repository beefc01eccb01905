// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "loader/gguf.h"

namespace tvllm::loader {

struct InspectOptions {
  bool show_metadata = true;
  bool show_tensors = true;  // one line each; the totals stand in any case
  std::size_t line_width = 100;
  bool show_whole_strings = false;  // a chat template in full, on lines of its own
};

// What a person wants to know about a model file: metadata (long lists abbreviated), the tensors
// as a table, totals for each type. Text from the file is escaped, so that it cannot control the
// terminal. Ends in a line break.
std::string describe_model_file(const GgufFile& file, const InspectOptions& options = {});

}  // namespace tvllm::loader
