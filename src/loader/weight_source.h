// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace tvllm::loader {

// One tensor of a model file. `data` points into the mapped file.
struct TensorInfo {
  std::string name;  // GGUF names: "blk.0.attn_q.weight"
  DType dtype = DType::kF32;
  // Outermost first, as NumPy prints it: a weight matrix is [num_outputs, num_inputs].
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  std::uint64_t file_offset = 0;  // for messages
};

// The weights of one model, by name. Implementations keep the file mapped while they live; every
// field was checked when the file was opened. Thread-safe after construction (const only).
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  virtual const std::string& path() const = 0;  // for messages
  virtual std::span<const TensorInfo> tensors() const = 0;
  // Null if there is no such tensor.
  virtual const TensorInfo* find(std::string_view name) const = 0;
  // A hint: `tensor` is copied, so its pages may leave memory. They come back if they are read.
  virtual void dont_need(const TensorInfo& tensor) const = 0;
};

}  // namespace tvllm::loader
