// SPDX-License-Identifier: Apache-2.0
// Opens the input as a GGUF file and uses all of it, as the engine and `inspect` do.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "loader/gguf.h"
#include "loader/gguf_config.h"
#include "loader/gguf_tokenizer_data.h"
#include "loader/gguf_weights.h"
#include "loader/inspect.h"

namespace {

using namespace tvllm;          // NOLINT(google-build-using-namespace)
using namespace tvllm::loader;  // NOLINT(google-build-using-namespace)

// What the loader promises of an open file; a broken promise is a crash the fuzzer sees.
void check_tensors(const GgufFile& file) {
  for (const TensorInfo& tensor : file.tensors()) {
    std::int64_t num_bytes = row_bytes(tensor.dtype, tensor.shape.back());
    for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
      num_bytes *= tensor.shape[i];
    if (static_cast<std::uint64_t>(num_bytes) != tensor.data.size() ||
        file.find_tensor(tensor.name) != &tensor || tensor.file_offset % file.alignment() != 0 ||
        tensor.file_offset + tensor.data.size() > file.file_bytes())
      __builtin_trap();
    volatile auto byte = tensor.data.back();
    static_cast<void>(byte);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Result<GgufFile> file = GgufFile::from_bytes("input.gguf", std::as_bytes(std::span(data, size)));
  if (!file) {
    if (file.error().message.find('\n') != std::string::npos) __builtin_trap();
    return 0;
  }
  check_tensors(*file);
  describe_model_file(*file, {.show_whole_strings = true});
  Result<ModelConfig> config = read_model_config(*file);
  const Result<TokenizerData> tokenizer = read_tokenizer_data(*file);
  if (config && tokenizer) {
    const Status status = add_vocabulary(*file, *tokenizer, *config);
    static_cast<void>(status.has_value());
  }
  const GgufWeights weights(std::move(*file));
  if (weights.find("no such tensor") != nullptr) __builtin_trap();
  return 0;
}
