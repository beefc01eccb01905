// SPDX-License-Identifier: Apache-2.0
// Weights by name with the shape that the model expects: a file that disagrees with its own
// metadata is refused here, before any kernel sees it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "base/result.h"
#include "loader/weight_source.h"

namespace tvllm::model {

// The tensor as a matrix of `num_rows` x `num_cols`.
Result<WeightView> require_matrix(const loader::WeightSource& weights, const std::string& name,
                                  std::int64_t num_rows, std::int64_t num_cols);

// The tensor as a vector of `num_elements`, in the backend's memory.
Result<std::unique_ptr<backend::Buffer>> load_vector(const loader::WeightSource& weights,
                                                     backend::Backend& backend,
                                                     const std::string& name,
                                                     std::int64_t num_elements);

// Refuses a file that holds more than the architecture reads, such as biases: the model would
// answer, only wrongly. `layer_tensors` are names after "blk.<layer>.", `other_tensors` whole
// names.
Status refuse_unread_tensors(const loader::WeightSource& weights, std::int32_t num_layers,
                             std::span<const std::string_view> layer_tensors,
                             std::span<const std::string_view> other_tensors);

// One part of a stacked matrix.
struct MatrixPart {
  std::string name;
  std::int64_t num_rows = 0;
};

// The parts stacked along rows, all with `num_cols` inputs.
Result<std::unique_ptr<backend::Matrix>> load_matrix(const loader::WeightSource& weights,
                                                     backend::Backend& backend,
                                                     std::initializer_list<MatrixPart> parts,
                                                     std::int64_t num_cols);

}  // namespace tvllm::model
