// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tvllm::loader {

// Finds the position of a name in a list. Sorted, not hashed: a file chooses its names, and names
// chosen to collide must not make opening it quadratic. Names are views; what they point to
// outlives the index. Thread-compatible while it is filled, thread-safe after.
class NameIndex {
 public:
  void reserve(std::size_t count) { names_.reserve(count); }
  void add(std::string_view name) {
    names_.emplace_back(name, static_cast<std::uint32_t>(names_.size()));
  }

  // Sorts. Returns the positions of a name that was added twice, the earlier one first, if any.
  // Call it once, before find().
  std::optional<std::pair<std::uint32_t, std::uint32_t>> finish();

  std::optional<std::uint32_t> find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string_view, std::uint32_t>> names_;  // by name, then by position
};

}  // namespace tvllm::loader
