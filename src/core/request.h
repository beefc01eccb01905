// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "core/sampling_params.h"

namespace tvllm {

// What a client asked of the engine: one choice of one prompt, token ids only. Immutable once it is
// in the inbox; shared between the client's side and the engine, which end at different times.
// Text matters (stop strings, detokenizing, templates) stay on the client's side.
struct Request {
  std::string request_id;  // for people: logs and traces. The engine's own key is the SeqId.
  std::vector<TokenId> prompt_token_ids;  // at least one, all inside the vocabulary
  SamplingParams sampling;
  std::int32_t priority = 0;  // lower first, under --scheduling-policy priority
  std::string cache_salt;     // keeps prefix-cache hits inside one tenant
  TimePoint arrival_time{};
};

}  // namespace tvllm
