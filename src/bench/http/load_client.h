// SPDX-License-Identifier: Apache-2.0
// The client of `bench serve`: many streamed answers at once, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/http/server_address.h"
#include "bench/serving_metrics.h"

namespace tvllm::bench {

struct LoadRequest {
  std::string bytes;                   // all of it: request_bytes()
  double at_seconds = 0.0;             // after the start; not decreasing from one to the next
  std::int64_t num_prompt_tokens = 0;  // counts where the server says nothing
};

struct LoadOptions {
  std::size_t max_concurrency = 0;         // answers at once; 0: no bound
  std::function<void()> on_finished = {};  // after each answer, on the calling thread
};

struct LoadRun {
  std::vector<RequestOutcome> outcomes = {};  // in the order of the requests
  double seconds = 0.0;
};

// Sends each request at its time, or as soon after as the bound allows, and follows the answers to
// their ends. Connections are used again. An answer that fails is told in its outcome; an error is
// a host without an address.
Result<LoadRun> run_load(const ServerAddress& server, std::span<const LoadRequest> requests,
                         const LoadOptions& options);

struct FetchedAnswer {
  int status = 0;
  std::string body;
};

// One request and its whole answer.
Result<FetchedAnswer> fetch(const ServerAddress& server, const std::string& bytes);

}  // namespace tvllm::bench
