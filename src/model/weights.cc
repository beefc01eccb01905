// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <algorithm>
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

// The name without "blk.<layer>." if it has that form and the layer exists; else all of it.
std::string_view without_layer(std::string_view name, std::int32_t num_layers) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return name;
  const std::size_t dot = name.find('.', kPrefix.size());
  if (dot == std::string_view::npos) return name;
  const auto layer = parse_int64(name.substr(kPrefix.size(), dot - kPrefix.size()));
  return layer && *layer >= 0 && *layer < num_layers ? name.substr(dot + 1) : name;
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Status refuse_unread_tensors(const loader::WeightSource& weights, std::int32_t num_layers,
                             std::span<const std::string_view> layer_tensors,
                             std::span<const std::string_view> other_tensors) {
  for (const loader::TensorInfo& tensor : weights.tensors()) {
    const std::string_view name = without_layer(tensor.name, num_layers);
    const bool is_of_layer = name.size() < tensor.name.size();
    if (contains(is_of_layer ? layer_tensors : other_tensors, name)) continue;
    return make_error(
        ErrorCode::kUnsupported,
        str_cat(weights.path(), ": tensor ", quoted(tensor.name),
                " is nothing that this architecture reads (offset ", hex(tensor.file_offset), ")"),
        tensor.name);
  }
  return {};
}

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
  TVLLM_TRY(std::unique_ptr<backend::Matrix> matrix, backend.make_matrix(views));
  if (!matrix->reads_file()) {
    for (const MatrixPart& part : parts) {
      weights.dont_need(*weights.find(part.name));
    }
  }
  return matrix;
}

}  // namespace tvllm::model
