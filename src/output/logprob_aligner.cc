// SPDX-License-Identifier: Apache-2.0
#include "output/logprob_aligner.h"

#include <utility>

namespace tvllm::output {

void LogprobAligner::add(TokenPiece piece, std::size_t num_bytes) {
  held_.push_back({std::move(piece), num_bytes, 0});
}

void LogprobAligner::complete(std::size_t num_bytes, std::size_t text_len) {
  for (; num_complete_ < held_.size() && held_[num_complete_].num_bytes <= num_bytes;
       ++num_complete_)
    held_[num_complete_].text_len = text_len;
}

void LogprobAligner::release(std::size_t text_len, std::vector<TokenPiece>& out) {
  std::size_t count = 0;
  while (count < num_complete_ && held_[count].text_len <= text_len)
    ++count;
  release_first(count, out);
  num_complete_ -= count;
}

void LogprobAligner::release_all(std::vector<TokenPiece>& out) {
  release_first(held_.size(), out);
  num_complete_ = 0;
}

void LogprobAligner::release_first(std::size_t count, std::vector<TokenPiece>& out) {
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(std::move(held_[i].piece));
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace tvllm::output
