// SPDX-License-Identifier: Apache-2.0
#include "loader/load_model_file.h"

#include <new>
#include <utility>

#include "loader/gguf.h"
#include "loader/gguf_config.h"
#include "loader/gguf_tokenizer_data.h"
#include "loader/gguf_weights.h"

namespace tvllm::loader {

namespace {

Result<ModelFile> load(const std::string& path) {
  TVLLM_TRY(GgufFile file, GgufFile::open(path));
  ModelFile model;
  // The model first: a file that is no language model has no tokenizer either, and should be
  // refused for what it is.
  TVLLM_TRY(model.config, read_model_config(file));
  TVLLM_TRY(model.tokenizer, read_tokenizer_data(file));
  TVLLM_RETURN_IF_ERROR(add_vocabulary(file, model.tokenizer, model.config));
  file.prefetch_tensors();
  model.weights = std::make_unique<GgufWeights>(std::move(file));
  return model;
}

}  // namespace

Result<ModelFile> load_model_file(const std::string& path) {
  try {
    return load(path);
  } catch (const std::bad_alloc&) {
    // Short enough to need no allocation.
    return make_error(ErrorCode::kResourceExhausted, "out of memory");
  }
}

}  // namespace tvllm::loader
