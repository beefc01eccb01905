// SPDX-License-Identifier: Apache-2.0
// Operations of a warp: shuffles, votes, reductions, __syncwarp.
#include <algorithm>
#include <cstring>
#include <functional>

#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "backend/cuda/emulation/intrinsics.h"
#include "base/strings.h"

namespace tvllm::cuda::emulation {
namespace {

struct ShuffleInput {
  const void* value = nullptr;
  int num_bytes = 0;
  int source_lane = 0;
};

void complete_shuffle(const WarpExchange& exchange) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (!exchange.takes_part(lane)) continue;
    const auto& input = exchange.in_of<ShuffleInput>(lane);
    if (!exchange.takes_part(input.source_lane)) {
      std::string sentence =
          str_cat("shuffle reads lane ", input.source_lane, ", which does not take part");
      fault_of(exchange.first_thread_idx + lane, std::move(sentence));
    }
    const auto& source = exchange.in_of<ShuffleInput>(input.source_lane);
    std::memcpy(exchange.out[static_cast<std::size_t>(lane)], source.value,
                static_cast<std::size_t>(std::min(input.num_bytes, source.num_bytes)));
  }
}

void complete_ballot(const WarpExchange& exchange) {
  std::uint32_t votes = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (exchange.takes_part(lane) && exchange.in_of<int>(lane) != 0) votes |= 1u << lane;
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (exchange.takes_part(lane)) exchange.out_of<std::uint32_t>(lane) = votes;
  }
}

template <typename Reduce>
void complete_reduce(const WarpExchange& exchange) {
  bool is_first = true;
  std::uint32_t result = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (!exchange.takes_part(lane)) continue;
    const auto value = exchange.in_of<std::uint32_t>(lane);
    result = is_first ? value : Reduce()(result, value);
    is_first = false;
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if (exchange.takes_part(lane)) exchange.out_of<std::uint32_t>(lane) = result;
  }
}

struct Min {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return std::min(a, b); }
};
struct Max {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return std::max(a, b); }
};

constexpr WarpOperation kSyncWarp = {
    .name = "__syncwarp", .complete = [](const WarpExchange&) {}, .orders_memory = true};
constexpr WarpOperation kBallot = {.name = "a vote", .complete = &complete_ballot};
// By ShuffleKind: lanes that call different functions do not meet.
constexpr WarpOperation kShuffles[] = {{.name = "__shfl_sync", .complete = &complete_shuffle},
                                       {.name = "__shfl_up_sync", .complete = &complete_shuffle},
                                       {.name = "__shfl_down_sync", .complete = &complete_shuffle},
                                       {.name = "__shfl_xor_sync", .complete = &complete_shuffle}};
// By ReduceKind.
constexpr WarpOperation kReductions[] = {
    {.name = "__reduce_add_sync", .complete = &complete_reduce<std::plus<>>},
    {.name = "__reduce_min_sync", .complete = &complete_reduce<Min>},
    {.name = "__reduce_max_sync", .complete = &complete_reduce<Max>},
    {.name = "__reduce_and_sync", .complete = &complete_reduce<std::bit_and<>>},
    {.name = "__reduce_or_sync", .complete = &complete_reduce<std::bit_or<>>},
    {.name = "__reduce_xor_sync", .complete = &complete_reduce<std::bit_xor<>>}};

// The lane whose value `lane` gets: its own where the target lies outside of its segment.
int source_lane(ShuffleKind kind, int lane, unsigned argument, int width) {
  const int first = lane / width * width;
  const int within = lane % width;
  const auto delta = static_cast<int>(argument & 31u);
  switch (kind) {
    case ShuffleKind::kIdx:
      return first + static_cast<int>(argument % static_cast<unsigned>(width));
    case ShuffleKind::kUp:
      return within - delta < 0 ? lane : lane - delta;
    case ShuffleKind::kDown:
      return within + delta >= width ? lane : lane + delta;
    case ShuffleKind::kXor: {
      const int target = lane ^ delta;
      // A lower segment may be read, a higher one not.
      return target >= first + width ? lane : target;
    }
  }
  return lane;
}

}  // namespace

void warp_barrier(std::uint32_t mask, Place place) {
  const InEmulation guard("__syncwarp");
  t_current.runner->warp_operation(kSyncWarp, mask, nullptr, nullptr, place);
}

int block_barrier(BarrierKind kind, int predicate, Place place) {
  const InEmulation guard("__syncthreads");
  return t_current.runner->block_barrier(kind, predicate, place);
}

void yield_thread() {
  const InEmulation guard("__nanosleep");
  t_current.runner->yield();
}

void shuffle(ShuffleKind kind, std::uint32_t mask, const void* value, void* result, int num_bytes,
             unsigned lane_argument, int width, Place place) {
  const InEmulation guard("a shuffle");
  if (width < 1 || width > kWarpSize || (width & (width - 1)) != 0) {
    std::string sentence = str_cat("shuffle width ", width, " is no power of two up to 32");
    fault(std::move(sentence));
  }
  const ShuffleInput input = {
      .value = value,
      .num_bytes = num_bytes,
      .source_lane = source_lane(kind, t_current.runner->lane(), lane_argument, width)};
  t_current.runner->warp_operation(kShuffles[static_cast<std::size_t>(kind)], mask, &input, result,
                                   place);
}

std::uint32_t ballot(std::uint32_t mask, int predicate, Place place) {
  const InEmulation guard("a vote");
  std::uint32_t votes = 0;
  t_current.runner->warp_operation(kBallot, mask, &predicate, &votes, place);
  return votes;
}

std::uint32_t reduce_unsigned(ReduceKind kind, std::uint32_t mask, std::uint32_t value,
                              Place place) {
  const InEmulation guard("__reduce_sync");
  std::uint32_t result = 0;
  t_current.runner->warp_operation(kReductions[static_cast<std::size_t>(kind)], mask, &value,
                                   &result, place);
  return result;
}

}  // namespace tvllm::cuda::emulation
