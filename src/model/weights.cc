// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <vector>

#include "base/strings.h"

namespace tvllm::model {

namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    str_append(out, i > 0 ? ", " : "", shape[i]);
  }
  return out + "]";
}

Result<const loader::TensorInfo*> require_shape(const loader::WeightSource& weights,
                                                const std::string& name,
                                                const std::vector<std::int64_t>& shape) {
  const loader::TensorInfo* tensor = weights.find(name);
  if (tensor == nullptr) {
    return invalid_argument(
        str_cat(weights.path(), ": tensor '", name, "' is missing; expected ", shape_text(shape)),
        name);
  }
  if (tensor->shape != shape) {
    return invalid_argument(
        str_cat(weights.path(), ": tensor '", name, "': expected shape ", shape_text(shape),
                " from the metadata, found ", shape_text(tensor->shape), " (offset ",
                hex(tensor->file_offset), ")"),
        name);
  }
  return tensor;
}

}  // namespace

Result<WeightView> require_matrix(const loader::WeightSource& weights, const std::string& name,
                                  std::int64_t num_rows, std::int64_t num_cols) {
  TVLLM_TRY(const loader::TensorInfo* tensor, require_shape(weights, name, {num_rows, num_cols}));
  return WeightView{tensor->dtype, num_rows, num_cols, tensor->data.data()};
}

Result<std::unique_ptr<backend::Buffer>> load_vector(const loader::WeightSource& weights,
                                                     backend::Backend& backend,
                                                     const std::string& name,
                                                     std::int64_t num_elements) {
  TVLLM_TRY(const loader::TensorInfo* tensor, require_shape(weights, name, {num_elements}));
  return backend.make_vector(WeightView{tensor->dtype, 1, num_elements, tensor->data.data()});
}

Result<std::unique_ptr<backend::Matrix>> load_matrix(const loader::WeightSource& weights,
                                                     backend::Backend& backend,
                                                     std::initializer_list<MatrixPart> parts,
                                                     std::int64_t num_cols) {
  std::vector<WeightView> views;
  for (const MatrixPart& part : parts) {
    TVLLM_TRY(const WeightView view, require_matrix(weights, part.name, part.num_rows, num_cols));
    views.push_back(view);
  }
  return backend.make_matrix(views);
}

}  // namespace tvllm::model
