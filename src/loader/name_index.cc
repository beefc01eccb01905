// SPDX-License-Identifier: Apache-2.0
#include "loader/name_index.h"

#include <algorithm>

namespace tvllm::loader {

std::optional<std::pair<std::uint32_t, std::uint32_t>> NameIndex::finish() {
  std::sort(names_.begin(), names_.end());
  const auto twice =
      std::adjacent_find(names_.begin(), names_.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == names_.end()) return std::nullopt;
  return std::pair(twice->second, std::next(twice)->second);
}

std::optional<std::uint32_t> NameIndex::find(std::string_view name) const {
  const auto at = std::lower_bound(names_.begin(), names_.end(), name,
                                   [](const auto& a, std::string_view b) { return a.first < b; });
  if (at == names_.end() || at->first != name) return std::nullopt;
  return at->second;
}

}  // namespace tvllm::loader
