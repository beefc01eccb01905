// SPDX-License-Identifier: Apache-2.0
// Attention over a paged cache with the heads of SmolLM2 (9 over 3, of 64) and of Gemma 3 270M (4
// over 1, of 256): decodes, which read K and V of a whole context for one token, and prompts, which
// compute.
//
//   attention_bench --benchmark_filter='avx2/threads:1/.*F16'
#include <cstdint>
#include <string>
#include <vector>

#include "base/strings.h"
#include "bench/micro/op_bench.h"

namespace {

using tvllm::str_cat;
using tvllm::testing::SequenceLens;

struct Heads {
  const char* name;
  std::int32_t num_heads;
  std::int32_t num_kv_heads;
  std::int32_t head_dim;
};

// A prompt of one of these lengths is computed in one step; the last one follows what is cached.
const std::vector<SequenceLens> kPrompts = {{128, 128}, {512, 512}, {4096, 512}};

struct Decodes {
  std::size_t count;
  std::int32_t context_len;
};

constexpr Decodes kDecodes[] = {{1, 192}, {1, 4096}, {16, 192}, {64, 192}, {64, 1024}};
constexpr std::int32_t kBlockSize = 16;

}  // namespace

int main(int argc, char** argv) {
  std::vector<tvllm::bench::BenchCase> cases;
  for (const Heads& heads : {Heads{"smollm2", 9, 3, 64}, Heads{"gemma3", 4, 1, 256}}) {
    for (const tvllm::DType dtype : {tvllm::DType::kF32, tvllm::DType::kF16, tvllm::DType::kBF16}) {
      const auto add = [&](const std::string& what, std::vector<SequenceLens> sequences,
                           bool is_cold) {
        cases.push_back({.name = str_cat("attention ", heads.name, " ",
                                         tvllm::dtype_info(dtype).name, " ", what),
                         .op_case = tvllm::testing::attention_case(
                             heads.num_heads, heads.num_kv_heads, heads.head_dim, kBlockSize, dtype,
                             std::move(sequences)),
                         .is_cold = is_cold});
      };
      for (const Decodes& decodes : kDecodes) {
        add(str_cat("decode ", decodes.count, " x ", decodes.context_len),
            std::vector<SequenceLens>(decodes.count, {decodes.context_len, 1}), true);
      }
      for (const SequenceLens& prompt : kPrompts)
        add(str_cat("prompt ", prompt.num_new, " of ", prompt.context_len), {prompt}, false);
    }
  }
  return tvllm::bench::run_op_benches(argc, argv, cases);
}
